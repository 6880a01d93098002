package codec

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"varve/grid"
)

// TestZstdUnsupported checks valid frames that need a dictionary or a huge
// window.
func TestZstdUnsupported(t *testing.T) {
	p := mustNew(t, `[`+littleBytes+`,{"name":"zstd"}]`, Form{Type: uint8Type, Shape: []int64{1}})
	for _, tt := range []struct{ name, frame string }{
		{"dictionary 5", "\x28\xb5\x2f\xfd\x21\x05\x01\x09\x00\x00A"},
		{"window of 3.75 TiB", "\x28\xb5\x2f\xfd\x00\xff\x09\x00\x00A"},
	} {
		err := p.Decode(NewElems(p.Form()), []byte(tt.frame))
		if !errors.Is(err, errors.ErrUnsupported) || errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: error is %v, want it marked as unsupported", tt.name, err)
		}
	}
}

// TestRegionOfHugeChunk reads one element of chunks whose declared size is larger than
// memory and which store next to nothing.
func TestRegionOfHugeChunk(t *testing.T) {
	ctx := context.Background()
	for _, tt := range []struct {
		name, list string
		typ        Type
		length     int64
	}{
		{"zstd", `[` + littleBytes + `,{"name":"zstd"}]`, uint8Type, 1 << 50},
		{"vlen-utf8", `[{"name":"vlen-utf8"}]`, stringType, 1<<32 - 1},
		{"shard after gzip", `[` + shards("[1048576]", littleBytes) + `,{"name":"gzip"}]`, uint8Type, 1 << 50},
	} {
		p := mustNew(t, tt.list, Form{Type: tt.typ, Shape: []int64{tt.length}})
		one := grid.Region{Origin: []int64{7}, Shape: []int64{1}}
		form := p.Form()
		form.Shape = one.Shape
		elems := NewElems(form)
		if err := p.DecodeRegion(ctx, Memory("abc"), one, elems); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: reading: error is %v, want it marked as corrupt", tt.name, err)
		}
		if _, err := p.EncodeRegion(nil, []byte("abc"), one, elems); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: writing: error is %v, want it marked as corrupt", tt.name, err)
		}
	}
}

// TestSharedBytesAreBounded decodes shards whose index names the same bytes for each
// inner chunk: first the bytes of equal inner chunks, then a long range that would take
// quadratic time.
func TestSharedBytesAreBounded(t *testing.T) {
	const n, each = 4096, 64
	frame := "\x28\xb5\x2f\xfd\x20\x40\x03\x02\x00A" // 64 times A
	skipped := "\x50\x2a\x4d\x18\x00\x00\x10\x00" + strings.Repeat("\x00", 1<<20)
	for _, tt := range []struct {
		name, codecs, inner string
		corrupt             bool
	}{
		{"equal", "", strings.Repeat("A", each), false},
		{"equal and compressed", `{"name":"zstd"},`, frame, false},
		{"long", `{"name":"zstd"},`, skipped + frame, true},
	} {
		p := mustNew(t, "["+rawShards("[64]", littleBytes+","+tt.codecs+`{"name":"crc32c"}`)+"]", Form{Type: uint8Type, Shape: []int64{n * each}})
		stored := binary.LittleEndian.AppendUint32([]byte(tt.inner), sumCRC32C([]byte(tt.inner)))
		length := uint64(len(stored))
		for range n {
			stored = binary.LittleEndian.AppendUint64(stored, 0)
			stored = binary.LittleEndian.AppendUint64(stored, length)
		}
		err := p.Decode(NewElems(p.Form()), stored)
		part := grid.Region{Origin: []int64{1}, Shape: []int64{n*each - 1}}
		partErr := p.DecodeRegion(context.Background(), Memory(stored), part, Elems{Fixed: make([]byte, n*each-1)})
		for _, err := range []error{err, partErr} {
			if (err != nil) != tt.corrupt || tt.corrupt && !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s: error is %v, want corruption: %v", tt.name, err, tt.corrupt)
			}
		}
	}
}

// TestUnsizedIsBounded checks the limit on the total output of nested compressors, and
// that a buffer that was too small is freed.
func TestUnsizedIsBounded(t *testing.T) {
	p := mustNew(t, `[`+littleBytes+`,{"name":"zstd"},{"name":"gzip"}]`, Form{Type: float32Type, Shape: []int64{100}})
	stored, err := p.Encode(nil, Elems{Fixed: ramp(400)})
	if err != nil {
		t.Fatal(err)
	}
	spent := &arena{unsizedBytes: maxUnsized - 10}
	if _, err := p.decodeUnsized(spent, 1, stored); !errors.Is(err, ErrCorrupt) {
		t.Errorf("with 10 bytes left: error is %v, want it marked as corrupt", err)
	}
	stored[len(stored)-8] ^= 1
	a := new(arena)
	if _, err := p.decodeUnsized(a, 1, stored); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a wrong sum: error is %v, want it marked as corrupt", err)
	}
	kept := 0
	for _, b := range a.buffers {
		kept += cap(b)
	}
	if limit := p.unsizedLimit(len(stored)); kept > limit {
		t.Errorf("%d bytes are kept, the limit is %d", kept, limit)
	}
}
