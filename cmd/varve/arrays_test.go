package main

import (
	"archive/zip"
	"compress/flate"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// copyArrays copies samples of fixtures/raw to a folder.
func copyArrays(t *testing.T, folder string, names ...string) {
	t.Helper()
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join("../../fixtures/raw", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestHeadersWithData builds folders of headers with their data: the data are no sources, but a change of them is noticed.
func TestHeadersWithData(t *testing.T) {
	dir := t.TempDir()
	copyArrays(t, dir, "T.0000000072.001.001.meta", "T.0000000072.001.001.data", "T.0000000072.002.001.meta", "T.0000000072.002.001.data")
	out := filepath.Join(dir, "out.varve")
	mustRun(t, "build", out, dir)
	if got := mustRun(t, "read", out, "T", "--stat"); !strings.Contains(got, `"count":72,"valid":72,"min":72,"max":143,`) {
		t.Error(got)
	}
	if got, _, err := run(t, "check", filepath.Join(dir, "T.0000000072.001.001.data")); err == nil || !strings.Contains(got, "T.0000000072.001.001.meta: name that file instead") {
		t.Error(got, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "T.0000000072.002.001.data"), make([]byte, 148), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, _, err := run(t, "verify", out); err == nil || !strings.Contains(got+err.Error(), "T.0000000072.002.001.data: source has changed") {
		t.Error(got, err)
	}
}

// TestPackedArrays reads a member of an .npz that is larger than the file, from chunks that are ranges of the member.
func TestPackedArrays(t *testing.T) {
	dir := t.TempDir()
	name, out := filepath.Join(dir, "a.npz"), filepath.Join(dir, "out.varve")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, 9) })
	w, err := z.Create("rows.npy")
	if err == nil {
		header := "{'descr': '|u1', 'fortran_order': True, 'shape': (3, 4000), }\n"
		_, err = fmt.Fprintf(w, "\x93NUMPY\x01\x00%c\x00%s%s", len(header), header, strings.Repeat("\x01\x02\x03", 4000))
	}
	if err == nil {
		err = z.Close()
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	mustRun(t, "build", out, name)
	for row := range 3 {
		if got := mustRun(t, "read", out, "rows", "--isel", fmt.Sprint("rows_dim_0=", row), "--stat"); !strings.Contains(got, fmt.Sprintf(`"count":4000,"valid":4000,"min":%d,"max":%[1]d,`, row+1)) {
			t.Error(got)
		}
	}
	mustRun(t, "verify", out, "--deep")
}

// TestRawOption builds and appends files without a header. The manifest keeps the option.
func TestRawOption(t *testing.T) {
	dir := t.TempDir()
	out, pattern := filepath.Join(dir, "out.varve"), filepath.Join(dir, "day*.bin")
	write := func(day int) {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("day%d.bin", day)), []byte{0, byte(day), 0, 7}, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(1)
	mustRun(t, "build", out, pattern, "--new-dim", `day=day(\d+)`, "--raw", "dtype=>u2,shape=2,dims=x,name=v")
	write(2)
	mustRun(t, "append", out, pattern, "--skip-known")
	if got := mustRun(t, "read", out, "v"); got != "day,x,v\n1,0,1\n1,1,7\n2,0,2\n2,1,7\n" {
		t.Error(got)
	}
	write(3)
	if got, _, err := run(t, "append", out, pattern, "--skip-known", "--raw", "dtype=<u2,shape=2,dims=x,name=v"); err == nil || !strings.Contains(got+err.Error(), "the manifest was built with raw=dtype=>u2") {
		t.Error(got, err)
	}
}
