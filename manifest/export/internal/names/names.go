// Package names finds out whether files can have the names that a hierarchy wants of them: there
// are systems that have no file called a:b, and such where T and t are one file.
package names

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"varve/manifest"
)

// Check is an errors.ErrUnsupported of keys with slashes that cannot be files, each its own, below
// a folder. It tries that in the folder, and leaves nothing there.
func Check(folder string, keys []string) error {
	alike := map[string][]string{} // what may be one file, by what all of them have in common
	seen := map[string]bool{}
	for _, key := range keys {
		for ; key != "." && !seen[key]; key = path.Dir(key) {
			seen[key] = true
			if err := checkName(path.Base(key)); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
			common := path.Join(path.Dir(key), folded(path.Base(key)))
			alike[common] = append(alike[common], key)
		}
	}
	for _, list := range alike {
		if len(list) < 2 {
			continue
		}
		slices.Sort(list)
		if err := tryAll(folder, list); err != nil {
			return err
		}
	}
	return nil
}

// folded is the same for all names that any system takes for one another: they differ in the case
// of letters, or in how a letter beyond ASCII is written.
func folded(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 0x80:
			return -1
		case 'A' <= r && r <= 'Z':
			return r | 0x20
		}
		return r
	}, name)
}

// tryAll makes a file for the last name of each key.
func tryAll(folder string, keys []string) (err error) {
	dir, err := os.MkdirTemp(folder, ".names-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	made := make([]os.FileInfo, len(keys))
	for i, key := range keys {
		name := filepath.Join(dir, path.Base(key))
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o666)
		if err == nil {
			err = f.Close()
		}
		if err == nil {
			made[i], err = os.Stat(name)
		}
		if err != nil {
			return err
		}
		same := func(other fs.FileInfo) bool { return other != nil && os.SameFile(other, made[i]) }
		if j := slices.IndexFunc(made[:i], same); j >= 0 {
			return manifest.WithRemedy(fmt.Errorf("%s and %s would be the same file in %s, whose file system ignores case or Unicode normalization: %w",
				keys[j], key, folder, errors.ErrUnsupported), "build/rename", "OLD=NEW")
		}
	}
	return nil
}
