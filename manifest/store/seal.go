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
	"os/user"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"varve/manifest"
	"varve/readers/source"
)

// A manifest that a user has built reads what it was built of, for the same user on the same
// machine, without being told that it may: its snapshot carries a seal. That is the list of
// the folders and URLs that its sources lie in, and an HMAC-SHA-256 over it:
//
//	"varve seal 1", then each prefix behind its length as a uvarint
//
// The key never leaves the user's config folder. Whoever changes the sources of a manifest
// reaches nothing beyond the prefixes that this user has sealed.
const sealDomain = "varve seal 1"

// maxPrefixes bounds the list: more folders than that are called by the folder they are in.
const maxPrefixes = 64

// Seal makes the seal of a manifest with these sources. It makes a key if the user has none.
// Old is the seal of the snapshot that they are added to, or nil: it is taken over if this
// user made it.
func Seal(old *manifest.Seal, urls iter.Seq[string]) (*manifest.Seal, error) {
	prefixes, err := prefixesOf(urls)
	if err != nil {
		return nil, err
	}
	if old != nil && isSealed(old) {
		prefixes = few(slices.Concat(prefixes, old.Prefixes))
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

// Reseal makes the seal of a manifest of whose sources some lie below other places now. If this user
// made the old one it is that of all sources, else of these places, and of nothing that links in
// them lead to: somebody else has named the sources.
func Reseal(old *manifest.Seal, urls iter.Seq[string], places []string) (*manifest.Seal, error) {
	if old != nil && isSealed(old) {
		return Seal(nil, urls)
	}
	var prefixes []string
	for _, place := range places {
		if isFar(place) {
			u, err := source.ParseURL(place)
			if err != nil {
				return nil, err
			}
			place = (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
		}
		if isFar(place) || filepath.Dir(place) != place {
			prefixes = append(prefixes, place)
		}
	}
	return seal(few(prefixes))
}

// isSealed reports whether this user made a seal.
func isSealed(s *manifest.Seal) bool {
	key, err := sealKey(false)
	if err != nil {
		return false // without a key, the manifest is anybody's
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

// configDir is the user's config folder, also where the environment names none, as in services
// and containers.
func configDir() (string, error) {
	dir, err := os.UserConfigDir()
	if err == nil {
		return dir, nil
	}
	me, failed := user.Current()
	if failed != nil || me.HomeDir == "" {
		return "", err
	}
	return filepath.Join(me.HomeDir, ".config"), nil
}

// sealKey reads the user's key, or makes one. Two processes that make one at a time end up
// with the same.
func sealKey(create bool) ([]byte, error) {
	dir, err := configDir()
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
	if err := os.Link(draft, name); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, errors.Join(err, os.Remove(draft))
	}
	if err := os.Remove(draft); err != nil {
		return nil, err
	}
	return readKey(name)
}

// readKey refuses a key that others may know.
func readKey(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 { // there the folder's list says who may read it
		return nil, fmt.Errorf("%s can be read by others (%v); remove it, and build your manifests again", name, info.Mode().Perm())
	}
	key, err := os.ReadFile(name)
	if err == nil && len(key) != keySize {
		err = fmt.Errorf("%s has %d bytes, want %d; remove it, and build your manifests again", name, len(key), keySize)
	}
	return key, err
}

// prefixesOf are the folders that sources lie in, with links and without, sorted. Where they
// are many they are called by those above them, but never by a root.
func prefixesOf(urls iter.Seq[string]) ([]string, error) {
	folders := map[string]bool{}
	for name := range urls {
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
		if info, err := os.Lstat(local); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			folders[folderOf(followed(local))] = true
		}
	}
	for folder := range maps.Clone(folders) {
		if !isFar(folder) {
			folders[followed(folder)] = true
		}
	}
	return few(slices.Collect(maps.Keys(folders))), nil
}

// few sorts folders, each once. Where they are many they are called by those above them.
func few(names []string) []string {
	folders := make(map[string]bool, len(names))
	for _, name := range names {
		folders[name] = true
	}
	for depth := deepest(folders); len(folders) > maxPrefixes && depth > 1; depth-- {
		raise(folders, depth)
	}
	return slices.Sorted(maps.Keys(folders))
}

// folderOf is the folder of a file, or the file itself if that is a root's.
func folderOf(name string) string {
	if dir := filepath.Dir(name); filepath.Dir(dir) != dir {
		return dir
	}
	return name
}

// raise replaces the folders of a depth by those they are in.
func raise(folders map[string]bool, depth int) {
	for _, folder := range slices.Collect(maps.Keys(folders)) {
		if depthOf(folder) == depth {
			delete(folders, folder)
			folders[above(folder)] = true
		}
	}
}

func deepest(folders map[string]bool) (most int) {
	for folder := range folders {
		most = max(most, depthOf(folder))
	}
	return most
}

// depthOf counts the names in a folder's path.
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

func above(folder string) string {
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
