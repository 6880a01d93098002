package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"varve/manifest/report/text"
)

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"plain é": "plain é", "\x1b[2Jgone": `\x1b[2Jgone`, "a\nb": `a\x0ab`, "\xff": `\xff`,
	} {
		if got := printable(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

func TestShownWriter(t *testing.T) {
	for text, want := range map[string]string{
		"plain é 水 🌊\n\tb\n":  "plain é 水 🌊\n\tb\n",
		"\x1b[2J\x00\a\r\x7f": `\x1b[2J\x00\x07\x0d\u007f`,
		"\u009b1m\u202edcba":  `\u009b1m\u202edcba`,
		"\xff\xc3":            `\xff\xc3`,
		"end \xe6\xb0":        `end \xe6\xb0`,
	} {
		for size := 1; size <= len(text); size++ {
			var b bytes.Buffer
			w := &shownWriter{to: &b}
			for at := 0; at < len(text); at += size {
				if n, err := w.Write([]byte(text[at:min(at+size, len(text))])); err != nil || n != min(size, len(text)-at) {
					t.Fatal(n, err)
				}
			}
			if err := w.finish(); err != nil {
				t.Fatal(err)
			}
			if b.String() != want {
				t.Errorf("%q in pieces of %d: got %q, want %q", text, size, b.String(), want)
			}
		}
	}
}

// FuzzShownWriter checks that no control character passes, that other text is unchanged, and that JSON has the same
// meaning afterwards.
func FuzzShownWriter(f *testing.F) {
	f.Add([]byte("\x1b]0;title\a\n"), uint8(3))
	f.Add([]byte("水\u009b\u202e\xff"), uint8(1))
	f.Fuzz(func(t *testing.T, text []byte, size uint8) {
		shown := func(text []byte) []byte {
			var b bytes.Buffer
			w := &shownWriter{to: &b}
			for part := text; len(part) > 0; {
				n := min(int(size)+1, len(part))
				w.Write(part[:n])
				part = part[n:]
			}
			w.finish()
			return b.Bytes()
		}
		got := shown(text)
		checkShown(t, string(got))
		if again := shown(got); !bytes.Equal(again, got) {
			t.Errorf("%q is changed again, to %q", got, again)
		}
		doc, err := json.Marshal(string(text))
		if err != nil {
			t.Fatal(err)
		}
		var was, is string
		if err := json.Unmarshal(doc, &was); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(shown(doc), &is); err != nil || was != is {
			t.Errorf("JSON %s means %q, then %q: %v", doc, was, is, err)
		}
	})
}

// checkShown checks that output has nothing that a terminal obeys.
func checkShown(t *testing.T, out string) {
	t.Helper()
	if !utf8.ValidString(out) {
		t.Errorf("output is not UTF-8: %q", out)
	}
	for _, r := range out {
		if text.IsControl(r) && r != '\n' && r != '\t' {
			t.Errorf("%U is in the output %q", r, out)
			return
		}
	}
}

// TestHostileNames checks that names and attributes with control characters reach no terminal, whatever command shows
// them, and that a line break in a name does not begin a line of output.
func TestHostileNames(t *testing.T) {
	const forged = "varve: forged"
	evil := "e\x1b]0;title\a\x1b[31m\n" + forged + "\n\u009b2J\u202e\x7f"
	dir := t.TempDir()
	member := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	text := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	array := func(store string, dtype string, codecs ...any) {
		member(filepath.Join(store, "zarr.json"), text(map[string]any{"zarr_format": 3, "node_type": "group", "attributes": map[string]any{evil: evil}}))
		member(filepath.Join(store, evil, "zarr.json"), text(map[string]any{
			"zarr_format": 3, "node_type": "array", "shape": []int{4}, "data_type": dtype, "fill_value": 0,
			"chunk_grid":         map[string]any{"name": "regular", "configuration": map[string]any{"chunk_shape": []int{2}}},
			"chunk_key_encoding": map[string]any{"name": "default"}, "codecs": codecs,
			"dimension_names": []string{evil}, "attributes": map[string]any{evil: evil, "units": evil},
		}))
		member(filepath.Join(store, evil, "c", "0"), "\x01\x00\x00\x00\x02\x00\x00\x00")
	}
	array("one.zarr", "int32", map[string]any{"name": "bytes", "configuration": map[string]any{"endian": "little"}})
	array("two.zarr", "int32", map[string]any{"name": "bytes", "configuration": map[string]any{"endian": "little"}})
	array("codec.zarr", "int32", map[string]any{"name": evil})
	array("type.zarr", evil, map[string]any{"name": "bytes"})
	member(evil+".nc", "no format: \x1b[2J\x00")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	at := func(name string) string { return filepath.Join(dir, name) }
	out := at("out.varve")
	for _, c := range []struct {
		name string
		args []string
		want int
	}{
		{"build", []string{"build", out, at("one.zarr")}, exitDone},
		{"build again", []string{"build", out, at("one.zarr")}, exitFailed},
		{"build an unknown codec", []string{"build", at("o2"), at("codec.zarr")}, exitConflict},
		{"build an unknown type", []string{"build", at("o3"), at("type.zarr")}, exitConflict},
		{"build what has no format", []string{"build", at("o4"), at(evil + ".nc")}, -1},
		{"check two", []string{"check", at("one.zarr"), at("two.zarr")}, exitDone},
		{"check what has no format", []string{"check", at(evil + ".nc")}, -1},
		{"build two", []string{"build", at("o5"), at("one.zarr"), at("two.zarr")}, exitDone},
		{"inspect", []string{"inspect", at("one.zarr")}, exitDone},
		{"inspect as JSON", []string{"inspect", "--json", at("one.zarr")}, exitDone},
		{"inspect a file of no format", []string{"inspect", at(evil + ".nc")}, -1},
		{"info", []string{"info", out}, exitDone},
		{"info as JSON", []string{"info", out, "--json"}, exitDone},
		{"info of no array", []string{"info", out, "no" + evil}, exitUsage},
		{"read", []string{"read", out, evil, "--stat"}, exitDone},
		{"read no index", []string{"read", out, evil, "--isel", evil + "=9"}, exitUsage},
		{"read no dimension", []string{"read", out, evil, "--isel", "no=9"}, exitUsage},
		{"verify", []string{"verify", out, "--deep"}, exitDone},
		{"history", []string{"history", out}, exitDone},
		{"explain", []string{"explain", evil}, exitUsage},
		{"a command", []string{evil}, exitUsage},
		{"a flag", []string{"info", "--" + evil}, exitUsage},
	} {
		t.Run(c.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			err := execute(t.Context(), c.args, &stdout, &stderr)
			if code := exitCode(err, false); code != c.want && c.want >= 0 || c.want < 0 && code == exitDone {
				t.Errorf("exit code %d, want %d: %v", code, c.want, err)
			}
			for _, got := range []string{stdout.String(), stderr.String()} {
				checkShown(t, got)
				if strings.HasPrefix(got, forged) || strings.Contains(got, "\n"+forged) {
					t.Errorf("a line is forged:\n%s", got)
				}
			}
		})
	}
}

// TestDataWriter checks that values for another program pass unchanged, and text for people does not.
func TestDataWriter(t *testing.T) {
	var out bytes.Buffer
	shown := &shownWriter{to: &out}
	for _, test := range []struct {
		to   io.Writer
		want string
	}{{dataWriter(shown), "a\x1b[2J"}, {shown, `a\x1b[2J`}, {dataWriter(&out), "a\x1b[2J"}} {
		out.Reset()
		if _, err := io.WriteString(test.to, "a\x1b[2J"); err != nil || out.String() != test.want {
			t.Errorf("got %q, %v; want %q", out.String(), err, test.want)
		}
	}
}

// TestSources checks that the names for the Python package end in NUL bytes.
func TestSources(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if err := execute(t.Context(), []string{"sources", "../../fixtures/demo", "--match", "2021-0[12].nc"}, &stdout, &stderr); err != nil {
		t.Fatal(err)
	}
	names := strings.Split(stdout.String(), "\x00")
	if len(names) != 3 || filepath.Base(names[0]) != "2021-01.nc" || filepath.Base(names[1]) != "2021-02.nc" || names[2] != "" {
		t.Errorf("%q", names)
	}
}
