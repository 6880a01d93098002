package hdf5

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"varve/fixtures/venv"
	"varve/readers"
	"varve/readers/source"
)

// reading is the content of a file as one reader sees it.
type reading struct {
	Error   string                 `json:"error"` // of the file
	Objects map[string]*readObject `json:"objects"`
}

// readObject is one object. testdata/libhdf5.py prints the same fields.
type readObject struct {
	Kind, Target string
	Error        string // of the object, or a part of it
	MaxShape     []any
	readArray
	Attributes map[string]*readArray
	Unreadable int // attributes
}

// readArray is a dataset or an attribute. Its values are hashed.
type readArray struct {
	Type, Space string
	Shape       []uint64
	Values      string // "" if they cannot be read
}

const largestRead = 1 << 20

// readAsLibhdf5 reads with this package the data that libhdf5.py reads with libhdf5.
func readAsLibhdf5(ctx context.Context, name string) reading {
	src, err := source.Open(ctx, name)
	if err != nil {
		return reading{Error: err.Error()}
	}
	defer src.Close()
	f, err := OpenFile(ctx, src)
	if err != nil {
		return reading{Error: err.Error()}
	}
	tree, err := f.Tree(ctx)
	if err != nil {
		return reading{Error: err.Error()}
	}
	out := reading{Objects: map[string]*readObject{}}
	for _, o := range tree.Objects {
		out.Objects[latin1(o.Path)] = f.readObject(ctx, o)
	}
	return out
}

// latin1 converts each byte of a name to a character, because damaged names need not be UTF-8.
func latin1(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		b.WriteRune(rune(c))
	}
	return b.String()
}

var kindNames = map[Kind]string{GroupObject: "group", DatasetObject: "dataset", TypeObject: "datatype", SoftLink: "soft", ExternalLink: "external", UserLink: "user", SecondLink: "second"}

func (f *File) readObject(ctx context.Context, o *Object) *readObject {
	out := &readObject{Kind: kindNames[o.Kind], Attributes: map[string]*readArray{}}
	if err := cmp.Or(o.Err, o.MembersErr()); err != nil {
		out.Error = err.Error()
	}
	switch o.Kind {
	case SecondLink:
		out.Target = latin1(o.Target)
	case TypeObject:
		out.Type = string([]rune(o.Type.String()))
	case DatasetObject:
		d := o.Dataset
		for _, n := range d.MaxShape {
			if n == readers.Unlimited {
				out.MaxShape = append(out.MaxShape, nil)
			} else {
				out.MaxShape = append(out.MaxShape, float64(n))
			}
		}
		out.readArray = f.readArray(ctx, d.Type, d.Space, d.Shape, func() ([]byte, error) { return d.ReadAll(ctx, largestRead) })
	}
	for i := range o.Attributes {
		a := &o.Attributes[i]
		if a.Type == nil {
			out.Unreadable++
			continue
		}
		one := f.readArray(ctx, a.Type, a.Space, a.Shape, func() ([]byte, error) { return a.data, a.Err })
		out.Attributes[latin1(a.Name)] = &one
	}
	return out
}

func (f *File) readArray(ctx context.Context, t *readers.Type, space Space, shape []uint64, read func() ([]byte, error)) readArray {
	out := readArray{Type: string([]rune(t.String())), Space: space.String(), Shape: shape}
	if space == Null {
		return out
	}
	if n, ok := product(shape); !ok || n > largestRead/uint64(t.Size) {
		out.Values = "large"
		return out
	}
	stored, err := read()
	if err != nil {
		return out
	}
	b, err := f.Canonical(ctx, nil, t, stored)
	if err != nil {
		return out
	}
	sum := sha256.Sum256(b)
	out.Values = hex.EncodeToString(sum[:])
	return out
}

// libhdf5 reads files with libhdf5 in another process, one after the other.
type libhdf5 struct {
	in  *os.File
	out *bufio.Reader
}

// read returns the content that libhdf5 reads. If libhdf5 crashes or hangs, the content is empty.
func (l *libhdf5) read(t *testing.T, name string) reading {
	t.Helper()
	if _, err := fmt.Fprintln(l.in, name); err != nil {
		t.Fatal(err)
	}
	line, err := l.out.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var out reading
	if err := json.Unmarshal(line, &out); err != nil {
		t.Fatalf("%v: %.200s", err, line)
	}
	return out
}

func startLibhdf5(t *testing.T, dir string) *libhdf5 {
	t.Helper()
	python := venv.Python(t, "h5py")
	script, err := filepath.Abs("testdata/libhdf5.py")
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, script)
	cmd.Dir, cmd.Stdin, cmd.Stderr = dir, r, os.Stderr
	cmd.Env = append(os.Environ(), "MALLOC_PERTURB_=255") // memory that libhdf5 leaves unset is zeros
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.Close()
		r.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	return &libhdf5{w, bufio.NewReaderSize(out, 1<<20)}
}

// TestInteropDamage changes the metadata of each sample in one place, VARVE_TRIES times, and
// updates the checksums. Data that this package reads without an error must equal the data that
// libhdf5 reads, or, if libhdf5 reads nothing, the data of the sample: the damage is then in unused
// bytes. VARVE_KEEP names a folder for files that fail.
func TestInteropDamage(t *testing.T) {
	dir := t.TempDir()
	lib := startLibhdf5(t, dir)
	samples := damagers(t)
	for _, name := range append(slices.Collect(maps.Keys(samples)), "layouts.raw") {
		b, err := os.ReadFile(filepath.Join(fixtureDir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	c := comparison{t: t, lib: lib, counts: map[string]int{}}
	tries := numberFrom(t, "VARVE_TRIES", 16)
	for _, sample := range slices.Sorted(maps.Keys(samples)) {
		c.of = readAsLibhdf5(t.Context(), filepath.Join(dir, sample))
		c.read(sample, filepath.Join(dir, sample), samples[sample].content)
		for i := range tries {
			c.read(fmt.Sprintf("%s-%d.h5", sample, i), filepath.Join(dir, "damaged.h5"), samples[sample].damaged(1))
		}
	}
	for _, what := range slices.Sorted(maps.Keys(c.counts)) {
		t.Logf("%6d %s", c.counts[what], what)
	}
	if least := int(tries) * len(samples) / 2; c.counts["files that both read"] < least || c.counts["arrays that are equal"] < 2*least {
		t.Errorf("both must read at least %d files and %d equal arrays, or the test shows too little", least, 2*least)
	}
}

// comparison compares a file as this package and as libhdf5 read it.
type comparison struct {
	t      *testing.T
	lib    *libhdf5
	at     string
	of     reading // the undamaged file
	counts map[string]int
	failed int
}

// read writes a file and reads it with both.
func (c *comparison) read(label, name string, content []byte) {
	c.t.Helper()
	if err := os.WriteFile(name, content, 0o644); err != nil {
		c.t.Fatal(err)
	}
	const seconds = 10 * time.Second
	ctx, cancel := context.WithTimeout(c.t.Context(), seconds)
	defer cancel()
	before := c.failed
	c.at = label
	got := readAsLibhdf5(ctx, name)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		c.fail("takes more than %v", seconds)
	}
	c.file(got, c.lib.read(c.t, name))
	if keep := os.Getenv("VARVE_KEEP"); keep != "" && c.failed > before {
		if err := os.WriteFile(filepath.Join(keep, label), content, 0o644); err != nil {
			c.t.Error(err)
		}
	}
}

func (c *comparison) fail(format string, args ...any) {
	c.failed++
	c.t.Errorf("%s: %s", c.at, fmt.Sprintf(format, args...))
}

func (c *comparison) file(got, want reading) {
	switch {
	case got.Error != "" && want.Error != "":
		c.counts["files that both refuse"]++
		return
	case got.Error != "":
		c.counts["files that libhdf5 alone reads"]++
		return
	case strings.HasPrefix(want.Error, "signal"):
		c.counts["files that libhdf5 crashes on"]++
	case want.Error != "":
		c.counts["files that libhdf5 alone refuses"]++
	default:
		c.counts["files that both read"]++
	}
	for path, o := range got.Objects {
		c.object(path, o, got, want)
	}
	for path, w := range want.Objects {
		if got.Objects[path] == nil && w.Error == "" && !isBelowError(got, path) {
			c.fail("%s is not listed", path)
		}
	}
}

// isBelowError reports whether an ancestor of an object has an error.
func isBelowError(r reading, path string) bool {
	for at := path; at != "/"; {
		at = filepath.Dir(at)
		if o := r.Objects[at]; o != nil && o.Error != "" {
			return true
		}
	}
	return false
}

func (c *comparison) object(path string, o *readObject, got, want reading) {
	w, whole := want.Objects[path], c.of.Objects[path]
	switch {
	case o.Error != "":
		c.counts["objects that are marked"]++
		return
	case (w == nil || w.Error != "") && isBelowError(got, path):
		c.counts["objects of groups that are marked"]++
		return
	case w == nil && want.Error == "" && !isBelowError(want, path):
		c.fail("libhdf5 does not list %s", path)
		return
	case w == nil || w.Error != "" && w.Type == "":
		c.counts["objects that libhdf5 alone refuses"]++
		w = nil
	}
	c.array(path, &o.readArray, arrayOf(w), arrayOf(whole))
	if w != nil && (o.Kind != w.Kind || o.Target != w.Target || !reflect.DeepEqual(o.MaxShape, w.MaxShape) && len(o.MaxShape)+len(w.MaxShape) > 0) {
		c.fail("%s is %s %s %v, to libhdf5 %s %s %v", path, o.Kind, o.Target, o.MaxShape, w.Kind, w.Target, w.MaxShape)
	}
	if o.Unreadable > 0 {
		c.counts["objects with marked attributes"]++
		return
	}
	c.attributes(path, o, w, whole)
}

func arrayOf(o *readObject) *readArray {
	if o == nil {
		return nil
	}
	return &o.readArray
}

func (c *comparison) attributes(path string, o, w, whole *readObject) {
	for name, a := range o.Attributes {
		var lib, sample *readArray
		if w != nil {
			lib = w.Attributes[name]
		}
		if whole != nil {
			sample = whole.Attributes[name]
		}
		// libhdf5 lists no attributes if the attribute info message is missing.
		if lib == nil && w != nil && w.Unreadable == 0 && len(w.Attributes) > 0 {
			c.fail("libhdf5 does not list attribute %q of %s", name, path)
			continue
		}
		c.array(path+"@"+name, a, lib, sample)
	}
	if w == nil {
		return
	}
	for name := range w.Attributes {
		if o.Attributes[name] == nil {
			c.fail("attribute %q of %s is not listed", name, path)
		}
	}
}

// array compares an array with what libhdf5 reads. If libhdf5 cannot read it, it compares with the
// array in the undamaged file.
func (c *comparison) array(path string, got, want, whole *readArray) {
	switch {
	case want == nil && whole == nil:
		c.fail("%s is read as %+v, and libhdf5 refuses it", path, *got)
	case want == nil:
		if !got.equals(whole) {
			c.fail("%s is read as %+v, the undamaged array is %+v, and libhdf5 refuses it", path, *got, *whole)
		}
	case want.Values == "" && got.Values != "" && whole != nil && got.equals(whole):
		c.counts["arrays whose values libhdf5 alone refuses"]++
	case want.Values == "" && got.Values != "":
		c.fail("%s is read as %+v, and libhdf5 refuses its values", path, *got)
	case !got.equals(want):
		c.fail("%s is read as %+v, by libhdf5 as %+v", path, *got, *want)
	case got.Values == "" && got.Space != "null" && got.Type != "":
		c.counts["arrays whose values are marked"]++
	case got.Type != "":
		c.counts["arrays that are equal"]++
	}
}

// equals reports whether arrays are equal. Values that were not read are ignored.
func (a *readArray) equals(b *readArray) bool {
	return a.Type == b.Type && a.Space == b.Space && slices.Equal(a.Shape, b.Shape) && (a.Values == b.Values || a.Values == "")
}
