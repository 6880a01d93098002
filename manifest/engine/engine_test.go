package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"varve/codec"
	"varve/grid"
	"varve/manifest/ingest"
	"varve/manifest/store"
)

// client speaks the protocol over one connection.
type client struct {
	t *testing.T
	net.Conn
}

// newClient returns a connection to a server of its own.
func newClient(t *testing.T) *client { return newClientOf(t, Options{Version: "test"}) }

func newClientOf(t *testing.T, opts Options) *client {
	t.Helper()
	server := New(opts)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- server.ServeTokens(ctx, listener, "token") }()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := conn.Write([]byte("token")); err != nil {
		t.Fatal(err)
	}
	return &client{t, conn}
}

func (c *client) ask(op byte, parts ...any) (status uint32, payload []byte) {
	c.t.Helper()
	body := []byte{op}
	for _, p := range parts {
		var err error
		if body, err = binary.Append(body, binary.LittleEndian, p); err != nil {
			c.t.Fatal(err)
		}
	}
	return c.send(append(binary.LittleEndian.AppendUint32(nil, uint32(len(body))), body...))
}

func (c *client) send(frame []byte) (status uint32, payload []byte) {
	c.t.Helper()
	if _, err := c.Write(frame); err != nil {
		c.t.Fatal(err)
	}
	head := make([]byte, answerHead)
	if _, err := io.ReadFull(c, head); err != nil {
		c.t.Fatal(err)
	}
	payload = make([]byte, binary.LittleEndian.Uint64(head[8:]))
	if _, err := io.ReadFull(c, payload); err != nil {
		c.t.Fatal(err)
	}
	return binary.LittleEndian.Uint32(head), payload
}

// code sends a request that must fail, and returns the code of the failure.
func (c *client) code(op byte, parts ...any) string {
	c.t.Helper()
	status, payload := c.ask(op, parts...)
	var f fault
	if err := json.Unmarshal(payload, &f); status != statusFailed || err != nil || f.Message == "" {
		c.t.Fatalf("status %d, %q (%v), want a failure", status, payload, err)
	}
	return f.Code
}

type opened struct {
	Dataset uint32
	Arrays  []struct {
		Path   string
		DType  any
		Shape  []int64
		Chunks []any
	}
}

func (c *client) open(name string) opened {
	c.t.Helper()
	ask, err := json.Marshal(openRequest{Manifest: name, Allow: []string{"../../fixtures/demo"}})
	if err != nil {
		c.t.Fatal(err)
	}
	var o opened
	status, payload := c.ask(opOpen, ask)
	if err := json.Unmarshal(payload, &o); status != statusDone || err != nil {
		c.t.Fatalf("open: status %d, %s (%v)", status, payload, err)
	}
	return o
}

// number returns the number of an array in the answer to open.
func (o opened) number(path string) uint32 {
	for i, a := range o.Arrays {
		if a.Path == path {
			return uint32(i)
		}
	}
	return 1 << 20
}

// demoManifest builds the manifest of the demo: three months of unequal lengths.
func demoManifest(t *testing.T) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "t2m.varve")
	if _, err := ingest.Build(t.Context(), out, &ingest.Options{Sources: ingest.Sources{Names: []string{"../../fixtures/demo"}, Match: "*.nc"}}); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSelections compares the elements of selections with the elements that the store reads.
func TestSelections(t *testing.T) {
	name := demoManifest(t)
	st, err := store.Open(t.Context(), name, &store.Options{Allow: []string{"../../fixtures/demo"}})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	a, err := st.Array("t2m")
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t)
	o := c.open(name)
	array := o.number("/t2m")
	if shape := o.Arrays[array].Shape; !slices.Equal(shape, a.Grid().Shape()) {
		t.Fatalf("the shape is %v, want %v", shape, a.Grid().Shape())
	}
	at := func(i int64) []byte { return numbers(axisAt, i) }
	part := func(start, count, step int64) []byte { return numbers(axisSlice, start, count, step) }
	list := func(i ...int64) []byte { return numbers(axisIndices, append([]int64{int64(len(i))}, i...)...) }
	n := a.Grid().Shape()
	for _, tt := range []struct {
		name string
		body []byte
		want []grid.Selector
	}{
		{"all", slices.Concat(part(0, n[0], 1), part(0, n[1], 1), part(0, n[2], 1)), nil},
		{"one", slices.Concat(at(40), at(1), at(2)), []grid.Selector{grid.At(40), grid.At(1), grid.At(2)}},
		{"a box", slices.Concat(part(30, 3, 1), at(1), part(1, 2, 1)), []grid.Selector{grid.Range(30, 33), grid.At(1), grid.Range(1, 3)}},
		{"steps", slices.Concat(part(1, 20, 3), part(0, n[1], 1), part(0, 2, 2)), []grid.Selector{grid.Range(1, 59).By(3), grid.All(), grid.Range(0, 3).By(2)}},
		{"lists", slices.Concat(list(70, 2, 2), part(0, n[1], 1), list(3, 0)), []grid.Selector{grid.Indices(70, 2, 2), grid.All(), grid.Indices(3, 0)}},
	} {
		x, err := grid.Orthogonal(a.Grid(), tt.want...)
		if err != nil {
			t.Fatal(err)
		}
		want := codec.NewElems(a.Schema().Form(x.Shape()))
		if err := a.Read(t.Context(), x, want); err != nil {
			t.Fatal(err)
		}
		status, got := c.ask(opRead, o.Dataset, array, []byte{selectOrthogonal, 3, 0, 0}, tt.body)
		if status != statusDone || !bytes.Equal(got, want.Fixed) {
			t.Errorf("%s: status %d, %d bytes, want the %d of the store", tt.name, status, len(got), len(want.Fixed))
		}
	}
	x, err := grid.Coordinate(a.Grid(), grid.Line(5, 50), grid.Line(0, 1), grid.Line(2, 0))
	if err != nil {
		t.Fatal(err)
	}
	want := codec.NewElems(a.Schema().Form(x.Shape()))
	if err := a.Read(t.Context(), x, want); err != nil {
		t.Fatal(err)
	}
	if _, got := c.ask(opRead, o.Dataset, array, []byte{selectPoints, 3, 0, 0}, []int64{2, 5, 50, 0, 1, 2, 0}); !bytes.Equal(got, want.Fixed) {
		t.Errorf("points: %x, want %x", got, want.Fixed)
	}
}

// numbers encodes the selector of one axis.
func numbers(tag byte, n ...int64) []byte {
	out := []byte{tag}
	for _, i := range n {
		out = binary.LittleEndian.AppendUint64(out, uint64(i))
	}
	return out
}

// TestBadRequests checks the code of the failure for each kind of invalid request.
func TestBadRequests(t *testing.T) {
	c := newClient(t)
	o := c.open(demoManifest(t))
	array := o.number("/t2m")
	whole := slices.Concat(numbers(axisAt, 0), numbers(axisAt, 0), numbers(axisAt, 0))
	head := []byte{selectOrthogonal, 3, 0, 0}
	for _, tt := range []struct {
		name, want string
		op         byte
		parts      []any
	}{
		{"another version", "usage", opHello, []any{uint32(99)}},
		{"no operation", "usage", 99, nil},
		{"no JSON", "usage", opOpen, []any{[]byte("{")}},
		{"no manifest", "not_found", opOpen, []any{[]byte(`{"manifest":"/nowhere"}`)}},
		{"no dataset", "closed", opRead, []any{uint32(77), array, head, whole}},
		{"no array", "usage", opRead, []any{o.Dataset, uint32(1 << 20), head, whole}},
		{"too few axes", "usage", opRead, []any{o.Dataset, array, []byte{selectOrthogonal, 2, 0, 0}, whole}},
		{"ends early", "usage", opRead, []any{o.Dataset, array, head, whole[:20]}},
		{"too long", "usage", opRead, []any{o.Dataset, array, head, whole, uint32(0)}},
		{"after the end", "usage", opRead, []any{o.Dataset, array, head, numbers(axisAt, 1<<40), whole[9:]}},
		{"before the start", "usage", opRead, []any{o.Dataset, array, head, numbers(axisSlice, -5, 3, 1), whole[9:]}},
		{"a slice over the end", "usage", opRead, []any{o.Dataset, array, head, numbers(axisSlice, 0, 1<<40, 2), whole[9:]}},
		{"a slice that overflows", "usage", opRead, []any{o.Dataset, array, head, numbers(axisSlice, 0, 1<<62, 1<<62), whole[9:]}},
		{"a list that is too long", "usage", opRead, []any{o.Dataset, array, head, numbers(axisIndices, 1<<62), whole[9:]}},
		{"a list of negative length", "usage", opRead, []any{o.Dataset, array, head, numbers(axisIndices, -1), whole[9:]}},
		{"no shared memory", "usage", opRead, []any{o.Dataset, array, []byte{selectOrthogonal, 3, 1, 0}, whole}},
	} {
		if got := c.code(tt.op, tt.parts...); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		if tt.name == "no shared memory" { // this failure ends the connection
			return
		}
	}
}

// TestLongRequest checks that a request with a huge length is rejected, and that no memory is allocated for it.
func TestLongRequest(t *testing.T) {
	c := newClient(t)
	if status, _ := c.send([]byte{0xff, 0xff, 0xff, 0xff, opOpen}); status != statusFailed {
		t.Errorf("status %d, want a failure", status)
	}
}

// TestKeys checks the values of keys, ranges of them, keys that do not exist, and lists of keys.
func TestKeys(t *testing.T) {
	c := newClient(t)
	o := c.open(demoManifest(t))
	whole := []any{o.Dataset, byte(rangeAll), int64(0), int64(0)}
	status, doc := c.ask(opGet, append(slices.Clone(whole), []byte("zarr.json"))...)
	if status != statusDone || !bytes.Contains(doc, []byte(`"consolidated_metadata"`)) {
		t.Errorf("status %d, %s", status, doc)
	}
	status, chunk := c.ask(opGet, append(slices.Clone(whole), []byte("t2m/c/1/0/0"))...)
	if status != statusDone || len(chunk) < 20 {
		t.Fatalf("status %d, %d bytes", status, len(chunk))
	}
	for _, tt := range []struct {
		kind byte
		a, b int64
		want []byte
	}{
		{rangeFromTo, 3, 9, chunk[3:9]},
		{rangeFrom, 5, 0, chunk[5:]},
		{rangeLast, 4, 0, chunk[len(chunk)-4:]},
		{rangeFromTo, 3, 1 << 40, chunk[3:]},
		{rangeLast, 1 << 40, 0, chunk},
		{rangeFrom, 1 << 40, 0, nil},
	} {
		if _, got := c.ask(opGet, o.Dataset, tt.kind, tt.a, tt.b, []byte("t2m/c/1/0/0")); !bytes.Equal(got, tt.want) {
			t.Errorf("range %d of %d, %d: %d bytes, want %d", tt.kind, tt.a, tt.b, len(got), len(tt.want))
		}
	}
	for _, key := range []string{"", "t2m", "t2m/c/99/0/0", "t2m/c/0", "nothing/zarr.json", "../zarr.json"} {
		if status, got := c.ask(opGet, append(slices.Clone(whole), []byte(key))...); status != statusNoKey {
			t.Errorf("%q: status %d, %q", key, status, got)
		}
	}
	var all []string
	for start := int64(0); ; {
		_, payload := c.ask(opList, o.Dataset, start, int64(2), []byte("t2m/"))
		var got keysAnswer
		if err := json.Unmarshal(payload, &got); err != nil {
			t.Fatal(err)
		}
		all = append(all, got.Keys...)
		if start = got.Next; start == 0 {
			break
		}
	}
	if !slices.Contains(all, "t2m/zarr.json") || !slices.Contains(all, "t2m/c/1/0/0") || slices.Contains(all, "time/zarr.json") {
		t.Errorf("below t2m/ are %v", all)
	}
}

// TestManyDatasets opens more datasets than maxOpen. It checks that at most maxOpen stores are open, and that a
// closed store is opened again when its dataset is used.
func TestManyDatasets(t *testing.T) {
	d := newDatasets(nil, nil)
	name := demoManifest(t)
	var handles []uint32
	for i := range maxOpen + 5 { // each allows another place, so that datasets do not share a store
		handle, at, err := d.open(t.Context(), &openRequest{Manifest: name, Allow: []string{filepath.Join(t.TempDir(), string(rune('a'+i)))}})
		if err != nil {
			t.Fatal(err)
		}
		d.release(at)
		handles = append(handles, handle)
	}
	open := 0
	for _, at := range d.shelves {
		if at.store != nil {
			open++
		}
	}
	if open > maxOpen || len(d.shelves) != len(handles) {
		t.Errorf("%d of %d stores are open, want at most %d", open, len(d.shelves), maxOpen)
	}
	at, err := d.get(t.Context(), handles[0]) // its store was closed
	if err != nil || at.store == nil {
		t.Fatalf("store %v, %v", at.store, err)
	}
	d.release(at)
	for _, h := range handles {
		d.drop(h)
	}
	if len(d.shelves) > 1 {
		t.Errorf("%d stores remain after all datasets were closed", len(d.shelves))
	}
	if err := d.close(); err != nil {
		t.Error(err)
	}
}

// TestWatch checks that the context of a request ends when the client closes its connection.
func TestWatch(t *testing.T) {
	ours, theirs := net.Pipe()
	defer ours.Close()
	ctx, done := watch(t.Context(), newLink(ours))
	defer done()
	theirs.Close()
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
		t.Error("the context did not end")
	}
}

// TestWrongToken checks that a connection with a wrong token is rejected.
func TestWrongToken(t *testing.T) {
	ours, theirs := net.Pipe()
	defer ours.Close()
	defer theirs.Close()
	go theirs.Write([]byte("wrong"))
	if err := checkToken(ours, "token"); err == nil {
		t.Error("a wrong token was accepted")
	}
}
