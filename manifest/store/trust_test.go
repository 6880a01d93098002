package store

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"varve/readers/source"
)

// TestReplacedFolder checks that a sealed or allowed folder that is replaced by a link is not followed, and that a link
// that was sealed or allowed is.
func TestReplacedFolder(t *testing.T) {
	ownConfig(t)
	for _, c := range []struct {
		name   string
		linked bool // the folder is a link when the manifest is sealed
		moved  bool // then it becomes a link to another folder with the same files
		ok     bool
	}{
		{"a folder", false, false, true},
		{"a link", true, false, true},
		{"a folder that becomes a link", false, true, false},
		{"a link that leads to another folder", true, true, false},
	} {
		m, snap, _ := archive(t, 2, true)
		dir := filepath.Dir(m.sources[0].URL)
		if c.linked {
			link := filepath.Join(t.TempDir(), "link")
			if err := os.Symlink(dir, link); err != nil {
				t.Fatal(err)
			}
			for _, s := range m.sources {
				s.URL = filepath.Join(link, filepath.Base(s.URL))
			}
			dir = link
		}
		var urls []string
		for _, s := range m.sources {
			urls = append(urls, s.URL)
		}
		seal, err := Seal(nil, nil, slices.Values(urls))
		if err != nil {
			t.Fatal(err)
		}
		snap.Seal = seal
		s, err := newStore(snap, m, nil, &Options{Allow: []string{dir}})
		if err != nil {
			t.Fatal(err)
		}
		if c.moved {
			away := filepath.Join(t.TempDir(), "away")
			target, err := filepath.EvalSymlinks(dir)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(os.Rename(target, away), os.RemoveAll(dir), os.Symlink(away, dir)); err != nil {
				t.Fatal(err)
			}
		}
		_, failed := readAll(t.Context(), t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		_, sealed := readWith(t, m, snap, Options{})
		for how, err := range map[string]error{"allowed before": failed, "sealed": sealed} {
			var refused *ForbiddenError
			switch {
			case c.ok && err != nil:
				t.Errorf("%s, %s: %v", c.name, how, err)
			case !c.ok && (!errors.As(err, &refused) || refused.Target == "" || !refused.IsOwn || !slices.Contains(refused.Allow, filepath.Dir(refused.Target))):
				t.Errorf("%s, %s: got %+v", c.name, how, err)
			}
		}
		// Whoever allows the folder now allows where it leads now.
		if _, err := readWith(t, m, snap, Options{Allow: []string{dir}}); err != nil {
			t.Errorf("%s, allowed now: %v", c.name, err)
		}
	}
}

// TestTrust checks the seals that Trust keeps: for one manifest and one user, and only the places that were trusted.
func TestTrust(t *testing.T) {
	ownConfig(t)
	m, snap, _ := archive(t, 2, true)
	dir := filepath.Dir(m.sources[0].URL)
	name := filepath.Join(t.TempDir(), "out")
	seal := func(places ...string) error {
		return (&Trusted{Manifest: trustName(name), Prefixes: places}).save()
	}
	read := func(name string) error {
		x, err := NewAccess(snap, name, nil)
		if err != nil {
			t.Fatal(err)
		}
		src, err := openVersion(t.Context(), x.Opener(source.NewOpener(nil)), m.sources[0].Source)
		if err != nil {
			return err
		}
		return src.Close()
	}
	refused := func(what string, err error) {
		t.Helper()
		var forbidden *ForbiddenError
		if !errors.As(err, &forbidden) || forbidden.Manifest != name && what != "another manifest" {
			t.Errorf("%s: got %v", what, err)
		}
	}
	refused("no seal", read(name))
	if err := seal(dir); err != nil {
		t.Fatal(err)
	}
	if err := read(name); err != nil {
		t.Errorf("trusted: %v", err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := errors.Join(os.Mkdir(name, 0o777), os.Symlink(name, link)); err != nil {
		t.Fatal(err)
	}
	name = link
	if err := read(name); err != nil {
		t.Errorf("by a link: %v", err)
	}
	refused("another manifest", read(name+"2"))
	file, err := trustFile(trustName(name))
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for at := range data {
		changed := slices.Clone(data)
		changed[at] ^= 1
		if err := os.WriteFile(file, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := trustedPrefixes(name); len(got) > 0 && !slices.Equal(got, []string{dir}) {
			t.Errorf("byte %d changed: trusts %q", at, got)
		}
	}
	if err := seal("/no/such"); err != nil {
		t.Fatal(err)
	}
	refused("another place", read(name))
	if err := seal(dir); err != nil {
		t.Fatal(err)
	}
	if err := Distrust(name); err != nil {
		t.Error(err)
	}
	refused("removed", read(name))
	if err := Distrust(name); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("removed twice: %v", err)
	}
	if err := seal(dir); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	refused("another user", read(name))
	if _, err := Trust(t.Context(), filepath.Join(t.TempDir(), "none"), nil); err == nil {
		t.Error("a manifest that does not exist is trusted")
	}
}
