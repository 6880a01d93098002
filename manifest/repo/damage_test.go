package repo

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve/codec"
	"varve/manifest"
)

// TestDamageIsNamed checks that the error for a damaged file has the name of the file and the kind of damage.
func TestDamageIsNamed(t *testing.T) { everywhere(t, testDamageIsNamed) }

func testDamageIsNamed(t *testing.T, h *homes) {
	cut := func(b []byte) []byte { return b[:1] }
	flip := func(b []byte) []byte {
		b[0] ^= 1
		return b
	}
	grow := func(b []byte) []byte { return append(b, 0) }
	gone := func([]byte) []byte { return nil }
	cases := []struct {
		name   string
		file   func(*manifest.Snapshot) string
		break_ func([]byte) []byte
		want   manifest.Damage
	}{
		{"table missing", tableOf, gone, manifest.FileMissing},
		{"table truncated", tableOf, cut, manifest.FileTruncated},
		{"table grown", tableOf, grow, manifest.FileCorrupt},
		{"table altered", tableOf, flip, manifest.FileCorrupt},
		{"snapshot missing", fileOf, gone, manifest.FileMissing},
		{"snapshot truncated", fileOf, cut, manifest.FileTruncated},
		{"snapshot altered", fileOf, flip, manifest.FileCorrupt},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := h.repository(t)
			snap := mustPublish(t, r, "whole", "hurt")
			name := r.path(c.file(snap))
			h.change(t, name, c.break_)
			loaded, err := r.Load(t.Context(), snap.ID)
			if err == nil {
				err = r.Check(t.Context(), loaded)
			}
			var damage *manifest.DamageError
			if !errors.As(err, &damage) || damage.Damage != c.want || damage.Name != name {
				t.Errorf("got %v, want a DamageError: %s %s", err, name, c.want)
			}
			if !errors.Is(err, codec.ErrCorrupt) {
				t.Errorf("got %v, want ErrCorrupt", err)
			}
		})
	}
}

func tableOf(s *manifest.Snapshot) string { return s.Tables[1].Name }
func fileOf(s *manifest.Snapshot) string  { return snapshotName(s.ID) }

// TestCheckNamesEveryFile checks that the error of Check names all missing files and no others.
func TestCheckNamesEveryFile(t *testing.T) { everywhere(t, testCheckNamesEveryFile) }

func testCheckNamesEveryFile(t *testing.T, h *homes) {
	r := h.repository(t)
	snap := mustPublish(t, r, "one", "two", "three")
	for _, table := range snap.Tables[1:] {
		h.remove(t, r.path(table.Name))
	}
	err := r.Check(t.Context(), snap)
	for i, table := range snap.Tables {
		if named := err != nil && strings.Contains(err.Error(), r.path(table.Name)); named != (i > 0) {
			t.Errorf("table %d: %v", i, err)
		}
	}
}

// TestDamagedPointer damages the file current. It checks that the error says how to repair the file, and
// that this repair works.
func TestDamagedPointer(t *testing.T) { everywhere(t, testDamagedPointer) }

func testDamagedPointer(t *testing.T, h *homes) {
	r := h.repository(t)
	snap := mustPublish(t, r, "one")
	name := r.path(currentName)
	for _, damaged := range []string{" ", "{", `{"varve":1,"snapshot":"../x"}`} {
		h.change(t, name, func([]byte) []byte { return []byte(damaged) })
		_, err := r.Current(t.Context())
		var damage *manifest.DamageError
		if !errors.As(err, &damage) || damage.Name != name || !strings.Contains(damage.Detail, r.path(snapshotFolder)) || !strings.Contains(damage.Detail, strings.TrimSpace(string((&pointer{Varve: 1, Snapshot: "ID"}).encode()))) {
			t.Fatalf("%q: got %v", damaged, err)
		}
		h.change(t, name, func([]byte) []byte { return (&pointer{Varve: 1, Snapshot: snap.ID}).encode() })
		if id, err := r.Current(t.Context()); err != nil || id != snap.ID {
			t.Errorf("%q: got %q and %v after the repair", damaged, id, err)
		}
	}
}

// TestTablesStayInside checks that a manifest from somebody else cannot name files outside itself.
func TestTablesStayInside(t *testing.T) {
	r := newRepository(t)
	good := mustPublish(t, r, "one").Tables[0]
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("one"), 0o666); err != nil {
		t.Fatal(err)
	}
	link := manifest.TableName(manifest.Refs, strings.Repeat("0", 64))
	if err := os.Symlink(secret, filepath.Join(r.Name(), link)); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*manifest.Table){
		"other name": func(t *manifest.Table) { t.Name = "../secret" },
		"absolute":   func(t *manifest.Table) { t.Name = secret },
		"kind":       func(t *manifest.Table) { t.Kind = "../x"; t.Name = manifest.TableName(t.Kind, t.Sum) },
		"sum":        func(t *manifest.Table) { t.Sum = "../x"; t.Name = manifest.TableName(t.Kind, t.Sum) },
		"negative":   func(t *manifest.Table) { t.Bytes = -1 },
		"link":       func(t *manifest.Table) { t.Sum = strings.Repeat("0", 64); t.Name = link },
	} {
		table := good
		change(&table)
		if f, err := r.OpenTable(t.Context(), table); err == nil {
			t.Errorf("%s: opened %s, want an error", name, table.Name)
			f.Close()
		}
	}
	f, err := r.OpenTable(t.Context(), good)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if data, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size())); err != nil || string(data) != "one" {
		t.Errorf("read %q, %v", data, err)
	}
}

func FuzzDecodeSnapshot(f *testing.F) {
	data, err := fullSnapshot(f).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"varve":1,"arrays":[{"zarr":"{}"}],"groups":[{"attributes":"x"}]}`))
	f.Add([]byte(`{"varve":1,"tables":[{"kind":"refs","name":"/etc/passwd"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		snap, err := manifest.DecodeSnapshot(data)
		if err != nil {
			return
		}
		again, err := snap.Encode()
		if err != nil {
			t.Fatalf("decoded, but cannot be encoded: %v", err)
		}
		if _, err := manifest.DecodeSnapshot(again); err != nil {
			t.Fatalf("encoded, but cannot be decoded: %v\n%s", err, again)
		}
	})
}
