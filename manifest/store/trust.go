package store

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"varve/manifest"
	"varve/manifest/internal/table"
	"varve/manifest/repo"
	"varve/readers/source"
	"varve/readers/source/atomicfile"
)

// A user who trusts a manifest of somebody else cannot seal it, because only its owner may write it, and another user
// may trust it too. So Trust keeps a seal in the user's config folder, in the folder "trusted". The name of the file is
// the SHA-256 of the manifest's name. Its HMAC-SHA-256, with the same key as that of a manifest's own seal, is over
//
//	"varve trust 1", then for the manifest's name and each prefix its length as a uvarint and its bytes
//
// The manifest may change: it still reads only these prefixes.
const trustDomain = "varve trust 1"

// Trusted is what a user lets a manifest read.
type Trusted struct {
	Manifest string   `json:"manifest"` // an absolute path without links, or a URL
	Prefixes []string `json:"prefixes"`
	MAC      string   `json:"mac"`
}

// TrustOptions configure Trust. nil is the same as the zero TrustOptions.
type TrustOptions struct {
	Places []string // further folders and URLs that the manifest may read, such as targets of redirects
	DryRun bool     // return the prefixes, and keep no seal
}

// Trust lets the user's programs read the sources of the manifest in dir from now on, as if the user had built it. The
// seal has the folders and URLs of its current sources, and replaces the former one.
func Trust(ctx context.Context, dir string, opts *TrustOptions) (trusted *Trusted, err error) {
	if opts == nil {
		opts = &TrustOptions{}
	}
	repository, snap, err := repo.OpenCurrent(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, repository.Close()) }()
	t, err := table.Open(snap.Tables, table.InRepository(repository), table.NewCache(tableCache))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	var failed error
	// Somebody else chose the names of the files, so links from a file to another folder are not followed.
	prefixes, err := prefixesOf(urlsIn(ctx, t, &failed), false)
	if err = errors.Join(err, failed); err != nil {
		return nil, err
	}
	places, err := placesOf(opts.Places, parsePrefix)
	if err != nil {
		return nil, err
	}
	trusted = &Trusted{Manifest: trustName(repository.Name()), Prefixes: limitPrefixes(slices.Concat(prefixes, places))}
	if opts.DryRun {
		return trusted, nil
	}
	return trusted, trusted.save()
}

// urlsIn yields the names of all sources. It sets failed if it cannot read them all.
func urlsIn(ctx context.Context, t *table.Reader, failed *error) iter.Seq[string] {
	return func(yield func(string) bool) {
		for row, err := range t.ScanSources(ctx, 0, t.Rows(manifest.Sources)) {
			if *failed = err; err != nil || !yield(row.URL) {
				return
			}
		}
	}
}

// Distrust removes the seal of Trust. Without one, the error wraps fs.ErrNotExist.
func Distrust(dir string) error {
	file, err := trustFile(trustName(dir))
	if err != nil {
		return err
	}
	err = os.Remove(file)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s was not trusted: %w", source.Shown(dir), fs.ErrNotExist)
	}
	return err
}

// trustName returns the name of a manifest for its seal. A local path has no links, so that a link cannot lead to
// another manifest later.
func trustName(name string) string {
	if isFar(name) {
		return name
	}
	local, err := source.LocalPath(name)
	if err == nil {
		local, err = filepath.Abs(local)
	}
	if err != nil {
		return name
	}
	return resolveLinks(local)
}

func trustFile(name string) (string, error) {
	dir, err := source.ConfigDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(name))
	return filepath.Join(dir, "varve", "trusted", hex.EncodeToString(sum[:])+".json"), nil
}

func (t *Trusted) sum(key []byte) []byte {
	h := hmac.New(sha256.New, key)
	text := []byte(trustDomain)
	for _, s := range slices.Concat([]string{t.Manifest}, t.Prefixes) {
		text = append(binary.AppendUvarint(text, uint64(len(s))), s...)
	}
	h.Write(text)
	return h.Sum(nil)
}

// save signs the seal, and keeps it.
func (t *Trusted) save() error {
	key, err := sealKey(true)
	if err != nil {
		return err
	}
	t.MAC = hex.EncodeToString(t.sum(key))
	data, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return err
	}
	file, err := trustFile(t.Manifest)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(file, atomicfile.Volatile, func(f *os.File) error {
		_, err := f.Write(data)
		return err
	})
}

// maxTrusted limits the size in bytes of the file of a seal.
const maxTrusted = 1 << 20

// trustedPrefixes returns what the user lets a manifest read. A seal that is missing, damaged or of another key lets it
// read nothing.
func trustedPrefixes(name string) []string {
	if name == "" {
		return nil
	}
	t := Trusted{Manifest: trustName(name)}
	file, err := trustFile(t.Manifest)
	if err != nil {
		return nil
	}
	if info, err := os.Stat(file); err != nil || info.Size() > maxTrusted || !info.Mode().IsRegular() {
		return nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	key, err := sealKey(false)
	if err != nil || json.Unmarshal(data, &t) != nil || t.Manifest != trustName(name) {
		return nil
	}
	if sum, err := hex.DecodeString(t.MAC); err != nil || !hmac.Equal(sum, t.sum(key)) {
		return nil
	}
	return t.Prefixes
}
