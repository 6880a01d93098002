package ingest

import (
	"encoding/binary"
	"path/filepath"
	"testing"
	"time"

	"varve/codec"
	"varve/fixtures/classic"
	"varve/grid"
	"varve/manifest/store"
	"varve/readers/source/sourcetest"
)

// recordFile is a netCDF-3 file. A record has width bytes of zeros and four bytes; the last one is the number of the record.
type recordFile struct {
	header []byte
	width  int64
}

func (f recordFile) ReadAt(p []byte, off int64) (int, error) {
	clear(p)
	if off < int64(len(f.header)) {
		copy(p, f.header[off:])
	}
	start := int64(len(f.header))
	for i := max(off-start, 0) / (f.width + 4); ; i++ {
		at := start + (i+1)*(f.width+4) - 1 - off
		if at >= int64(len(p)) {
			return len(p), nil
		}
		if at >= 0 {
			p[at] = byte(i)
		}
	}
}

// TestFarReads reads chunks that are far from each other, all of one file on a server that answers slowly. The limit of the host
// decides how many requests run at a time.
func TestFarReads(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	const records, width = 300, 260 << 10
	// The records of wide lie between those of narrow, so that two chunks of narrow are never read at once.
	file := classic.File{Dims: []classic.Dim{{Name: "time", Length: 1, Records: true}, {Name: "x", Length: width}}, Vars: []classic.Var{
		{Name: "wide", Dims: []string{"time", "x"}, Data: make([]int8, width)}, {Name: "narrow", Dims: []string{"time"}, Data: []int32{0}},
	}}
	content, err := file.Encode()
	if err != nil {
		t.Fatal(err)
	}
	header := content[:len(content)-width-4]
	binary.BigEndian.PutUint32(header[4:], records)
	server := sourcetest.NewServer(t)
	url := server.PutFile("/a.nc", recordFile{header, width}, int64(len(header)+records*(width+4)))
	out := filepath.Join(t.TempDir(), "out")
	if _, err := Build(t.Context(), out, &Options{Sources: Sources{Names: []string{url}}}); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), out, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	a, err := s.Array("/narrow")
	if err != nil {
		t.Fatal(err)
	}
	requests, received := server.Counts()
	server.Latency = 40 * time.Millisecond
	got := make([]byte, 4*records)
	dst := codec.Elems{Fixed: got}
	if err := a.ReadRegion(t.Context(), grid.Whole([]int64{records}), dst); err != nil {
		t.Fatal(err)
	}
	for i := range records {
		if v := int(int8(got[4*i])); v != int(int8(i)) {
			t.Fatalf("record %d is %d, want %d", i, v, int8(i))
		}
	}
	r, n := server.Counts()
	most, _ := server.Crowd()
	t.Logf("%d requests, %d bytes, at most %d requests at a time", r-requests, n-received, most)
	if most < 32 {
		t.Errorf("at most %d requests at a time, want at least 32", most)
	}
}
