package store

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"varve/manifest"
	"varve/readers/source"
)

// A manifest may read its sources without permission if the same user built it on the same machine.
// The snapshot carries a seal to prove that: a list of the folders and URLs that contain the sources,
// and an HMAC-SHA-256 over
//
//	"varve seal 1", then for each prefix its length as a uvarint and its bytes
//
// The key never leaves the user's config folder. If somebody changes the sources of a manifest, the store
// still reads only prefixes that this user has sealed.
const sealDomain = "varve seal 1"

// maxPrefixes limits the list. If there are more folders, their parent folders replace them.
const maxPrefixes = 64

// Seal returns the seal of a manifest with sources that the user named, and with more places, such as those to which
// servers redirect. It makes a key if the user has none. old is the seal of the snapshot to which the sources are added, or
// nil. If this user made it, the new seal also has its prefixes. If not, and there are no sources and places, it stays.
func Seal(old *manifest.Seal, places []string, urls iter.Seq[string]) (*manifest.Seal, error) {
	prefixes, err := prefixesOf(urls, true)
	if err != nil {
		return nil, err
	}
	prefixes = limitPrefixes(slices.Concat(prefixes, places))
	isOwn := old != nil && isSealed(old)
	if len(prefixes) == 0 && !isOwn {
		return old, nil
	}
	if isOwn {
		prefixes = limitPrefixes(slices.Concat(prefixes, old.Prefixes))
	}
	return seal(prefixes)
}

func seal(prefixes []string) (*manifest.Seal, error) {
	key, err := sealKey(true)
	if err != nil {
		return nil, err
	}
	return &manifest.Seal{Prefixes: prefixes, MAC: hex.EncodeToString(sealSum(key, prefixes))}, nil
}

// Reseal returns the seal of a manifest after some of its sources were moved below places, some of which redirect. If
// this user made the old seal, the new one covers the sources that it permits and those below places, and the servers of the
// old one, to which others may redirect. Otherwise somebody else chose the names of the sources, so the new seal covers only the places, without
// following links below them.
func Reseal(old *manifest.Seal, redirects []string, urls iter.Seq[string], places []string) (*manifest.Seal, error) {
	if old != nil && isSealed(old) {
		moved, err := placesOf(places, source.ParseURL)
		if err != nil {
			return nil, err
		}
		x, err := newAccess(nil)
		if err == nil {
			err = x.addSealed(slices.Concat(moved, old.Prefixes))
		}
		if err != nil {
			return nil, err
		}
		permitted := func(yield func(string) bool) {
			for name := range urls {
				if x.Check(source.Outer(name)) == nil && !yield(name) {
					return
				}
			}
		}
		servers := slices.DeleteFunc(slices.Clone(old.Prefixes), func(p string) bool { return !isFar(p) })
		return Seal(nil, slices.Concat(redirects, servers), permitted)
	}
	prefixes, err := placesOf(places, source.ParseURL)
	if err != nil {
		return nil, err
	}
	return seal(limitPrefixes(slices.Concat(prefixes, redirects)))
}

// placesOf returns the prefixes of a seal for folders and URLs that the user names. A folder that is a link is listed
// with where it leads now.
func placesOf(places []string, parse func(string) (*url.URL, error)) (prefixes []string, err error) {
	for _, place := range places {
		if isFar(place) {
			u, err := parse(place)
			if err != nil {
				return nil, err
			}
			prefixes = append(prefixes, (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String())
			continue
		}
		local, err := source.LocalPath(place)
		if err == nil {
			local, err = filepath.Abs(local)
		}
		if err != nil {
			return nil, err
		}
		for _, folder := range []string{local, resolveLinks(local)} {
			// Never seal a whole file system.
			if filepath.Dir(folder) != folder {
				prefixes = append(prefixes, folder)
			}
		}
	}
	return prefixes, nil
}

// PlacesWith returns the allowed places that contain at least one of the sources, as prefixes of a seal.
func PlacesWith(places []string, urls iter.Seq[string]) (prefixes []string, err error) {
	for _, place := range places {
		x, err := newAccess([]string{place})
		if err != nil {
			return nil, err
		}
		for name := range urls {
			if x.Check(source.Outer(name)) == nil {
				found, err := placesOf([]string{place}, parsePrefix)
				if err != nil {
					return nil, err
				}
				prefixes = append(prefixes, found...)
				break
			}
		}
	}
	return prefixes, nil
}

// isSealed reports whether this user made a seal.
func isSealed(s *manifest.Seal) bool {
	key, err := sealKey(false)
	if err != nil {
		return false // without a key, this user cannot have made it
	}
	sum, err := hex.DecodeString(s.MAC)
	return err == nil && hmac.Equal(sum, sealSum(key, s.Prefixes))
}

func sealSum(key []byte, prefixes []string) []byte {
	h := hmac.New(sha256.New, key)
	text := []byte(sealDomain)
	for _, p := range prefixes {
		text = append(binary.AppendUvarint(text, uint64(len(p))), p...)
	}
	h.Write(text)
	return h.Sum(nil)
}

const keySize = 32

// sealKey returns the user's key. With create it makes a key if there is none. Two processes that do so
// at the same time get the same key.
func sealKey(create bool) ([]byte, error) {
	dir, err := source.ConfigDir()
	if err != nil {
		return nil, err
	}
	name := filepath.Join(dir, "varve", "key")
	key, err := readKey(name)
	if !create || !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	draft := name + "." + rand.Text()
	fresh := make([]byte, keySize)
	_, _ = rand.Read(fresh) // it never fails
	if err := os.WriteFile(draft, fresh, 0o600); err != nil {
		return nil, err
	}
	// Unlike rename, link never replaces a key that another process made.
	if err := os.Link(draft, name); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, errors.Join(err, os.Remove(draft))
	}
	if err := os.Remove(draft); err != nil {
		return nil, err
	}
	return readKey(name)
}

// readKey reads the key. It rejects a key that other users may read.
func readKey(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	// On Windows the folder's access list protects the key.
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s: other users can read this key (mode %v); remove it and build your manifests again", name, info.Mode().Perm())
	}
	key, err := os.ReadFile(name)
	if err == nil && len(key) != keySize {
		err = fmt.Errorf("%s: the key has %d bytes instead of %d; remove it and build your manifests again", name, len(key), keySize)
	}
	return key, err
}

// FoldersOf returns the folders and prefixes of URLs that contain the sources, as a seal has them.
func FoldersOf(urls iter.Seq[string]) ([]string, error) { return prefixesOf(urls, false) }

// prefixesOf returns the folders that contain the sources, sorted, both with links and with links resolved. If
// there are too many, their parent folders replace them, but never a root folder. With follow it also has the folders to
// which links that are sources lead.
func prefixesOf(urls iter.Seq[string], follow bool) ([]string, error) {
	folders := map[string]bool{}
	for name := range urls {
		name = source.Outer(name)
		if isFar(name) {
			u, err := source.ParseURL(name)
			if err != nil {
				return nil, err
			}
			folders[(&url.URL{Scheme: u.Scheme, Host: u.Host, Path: path.Dir(path.Clean("/" + u.Path))}).String()] = true
			continue
		}
		local, err := source.LocalPath(name)
		if err == nil {
			local, err = filepath.Abs(local)
		}
		if err != nil {
			return nil, err
		}
		folders[folderOf(local)] = true
		if info, err := os.Lstat(local); follow && err == nil && info.Mode()&fs.ModeSymlink != 0 {
			folders[folderOf(resolveLinks(local))] = true
		}
	}
	for folder := range maps.Clone(folders) {
		if !isFar(folder) {
			folders[resolveLinks(folder)] = true
		}
	}
	return limitPrefixes(slices.Collect(maps.Keys(folders))), nil
}

// limitPrefixes sorts folders and removes duplicates. Parent folders replace them if there are more than
// maxPrefixes.
func limitPrefixes(names []string) []string {
	folders := make(map[string]bool, len(names))
	for _, name := range names {
		folders[name] = true
	}
	for depth := maxDepth(folders); len(folders) > maxPrefixes && depth > 1; depth-- {
		raise(folders, depth)
	}
	return slices.Sorted(maps.Keys(folders))
}

// folderOf returns the folder of a file, or the file itself if the folder is a root.
func folderOf(name string) string {
	if dir := filepath.Dir(name); filepath.Dir(dir) != dir {
		return dir
	}
	return name
}

// raise replaces the folders of this depth by their parents.
func raise(folders map[string]bool, depth int) {
	for _, folder := range slices.Collect(maps.Keys(folders)) {
		if depthOf(folder) == depth {
			delete(folders, folder)
			folders[parentOf(folder)] = true
		}
	}
}

func maxDepth(folders map[string]bool) (most int) {
	for folder := range folders {
		most = max(most, depthOf(folder))
	}
	return most
}

// depthOf returns the number of names in a folder's path.
func depthOf(folder string) (n int) {
	if isFar(folder) {
		u, err := url.Parse(folder)
		if err != nil {
			return 0
		}
		folder = u.Path
	}
	folder = path.Clean(filepath.ToSlash(folder[len(filepath.VolumeName(folder)):]))
	if folder == "/" {
		return 0
	}
	return strings.Count(folder, "/")
}

func parentOf(folder string) string {
	if !isFar(folder) {
		return filepath.Dir(folder)
	}
	u, err := url.Parse(folder)
	if err != nil {
		return folder
	}
	u.Path = path.Dir(u.Path)
	return u.String()
}
