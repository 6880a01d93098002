package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"varve/grid"
)

// region1 is a region of one axis.
func region1(origin, length int64) grid.Region {
	return grid.Region{Origin: []int64{origin}, Shape: []int64{length}}
}

// shardIndexOf decodes the index of a shard.
func shardIndexOf(t *testing.T, p *Pipeline, stored []byte) *ShardIndex {
	t.Helper()
	sh, err := p.Shards()
	if err != nil {
		t.Fatal(err)
	}
	at, err := sh.IndexRange(int64(len(stored)))
	if err != nil {
		t.Fatal(err)
	}
	index, err := sh.Index(stored[at.Offset:at.End()], int64(len(stored)))
	if err != nil {
		t.Fatal(err)
	}
	return index
}

func TestUntouchedInnerChunksAreCopied(t *testing.T) {
	form := Form{Type: uint8Type, Shape: []int64{400}}
	written := mustNew(t, "["+shards("[100]", littleBytes+`,{"name":"gzip","configuration":{"level":0}}`)+"]", form)
	p := mustNew(t, "["+shards("[100]", littleBytes+`,{"name":"gzip","configuration":{"level":9}}`)+"]", form)
	elems := ramp(400)
	old, err := written.Encode(nil, Elems{Fixed: elems})
	if err != nil {
		t.Fatal(err)
	}
	before := bytes.Clone(old)
	out, err := p.EncodeRegion(nil, old, region1(150, 100), Elems{Fixed: bytes.Repeat([]byte{7}, 100)})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(old, before) {
		t.Error("the old shard was written to")
	}
	was, is := shardIndexOf(t, written, old), shardIndexOf(t, p, out)
	for i, copied := range []bool{true, false, false, true} {
		a, _ := was.At([]int64{int64(i)})
		b, ok := is.At([]int64{int64(i)})
		if same := bytes.Equal(old[a.Offset:a.End()], out[b.Offset:b.End()]); !ok || same != copied {
			t.Errorf("inner chunk %d: copied is %v, want %v", i, same, copied)
		}
	}
	copy(elems[150:], bytes.Repeat([]byte{7}, 100))
	back := NewElems(form)
	if err := p.Decode(back, out); err != nil || !bytes.Equal(back.Fixed, elems) {
		t.Errorf("decodes to other elements, or %v", err)
	}
}

func TestInnerChunksThatBecomeFillAreDropped(t *testing.T) {
	p, stored := shardOfFour(t)
	out, err := p.EncodeRegion(nil, stored, region1(1, 4), Elems{Fixed: make([]byte, 4)})
	if err != nil {
		t.Fatal(err)
	}
	index := shardIndexOf(t, p, out)
	if _, ok := index.At([]int64{1}); ok || len(out) != 6+64 {
		t.Errorf("the inner chunk of zeros is stored: %q", out)
	}
	out, err = p.EncodeRegion([]byte("before"), out, region1(0, 8), Elems{Fixed: make([]byte, 8)})
	if err != nil || string(out) != "before" {
		t.Errorf("a shard of zeros is stored: %q, %v", out, err)
	}
}

func TestEncodeRegionLeavesGapsOut(t *testing.T) {
	p, stored := shardOfFour(t)
	index := stored[8:]
	for i := range 4 { // 5 bytes of nothing in front
		binary.LittleEndian.PutUint64(index[16*i:], 5+binary.LittleEndian.Uint64(index[16*i:]))
	}
	out, err := p.EncodeRegion(nil, append([]byte("-----"), stored...), region1(6, 2), Elems{Fixed: []byte("xy")})
	if err != nil || string(out[:8]) != "abcdefxy" || len(out) != 8+64 {
		t.Errorf("%q, %v", out, err)
	}
}

// Inner chunks that share bytes may be longer together than the stored shard, so they must not
// be copied one by one.
func TestEncodeRegionOfSharedBytes(t *testing.T) {
	p := mustNew(t, "["+rawShards("[1000]", littleBytes+`,{"name":"gzip"}`)+"]", Form{Type: uint8Type, Shape: []int64{64000}})
	inner := ramp(1000)
	one, err := mustNew(t, "["+littleBytes+`,{"name":"gzip"}]`, Form{Type: uint8Type, Shape: []int64{1000}}).Encode(nil, Elems{Fixed: inner})
	if err != nil {
		t.Fatal(err)
	}
	stored := bytes.Clone(one)
	for range 64 {
		stored = binary.LittleEndian.AppendUint64(stored, 0)
		stored = binary.LittleEndian.AppendUint64(stored, uint64(len(one)))
	}
	out, err := p.EncodeRegion(nil, stored, region1(5, 1), Elems{Fixed: []byte{99}})
	if err != nil {
		t.Fatal(err)
	}
	want := bytes.Repeat(inner, 64)
	want[5] = 99
	back := NewElems(p.Form())
	if err := p.Decode(back, out); err != nil || !bytes.Equal(back.Fixed, want) {
		t.Errorf("decodes to other elements, or %v", err)
	}
}

// An index may name the whole shard for every inner chunk. Copying would multiply it.
func TestEncodeRegionDoesNotMultiply(t *testing.T) {
	p := mustNew(t, "["+rawShards("[10]", littleBytes+`,{"name":"gzip"}`)+"]", Form{Type: uint8Type, Shape: []int64{640}})
	stored := make([]byte, 5000)
	size := uint64(len(stored) + 64*16)
	for range 64 {
		stored = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(stored, 0), size)
	}
	out, err := p.EncodeRegion(nil, stored, region1(5, 1), Elems{Fixed: []byte{99}})
	if !errors.Is(err, ErrCorrupt) || len(out) > 0 {
		t.Errorf("%d bytes, %v", len(out), err)
	}
}

// Only the document declares the size of a chunk that is not stored.
func TestEncodeRegionOfHugeChunks(t *testing.T) {
	const huge = "[288230376151711744]" // 2^58
	for name, codecs := range map[string]string{
		"raw":              littleBytes,
		"compressed":       littleBytes + `,{"name":"zstd"}`,
		"an index of them": rawShards("[1]", littleBytes),
		"inner chunks":     rawShards(huge, littleBytes),
	} {
		p := mustNew(t, "["+codecs+"]", Form{Type: int16Type, Shape: []int64{1 << 58}})
		out, err := p.EncodeRegion([]byte("before"), nil, region1(3, 1), Elems{Fixed: []byte("xy")})
		if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "4 GiB") || string(out) != "before" {
			t.Errorf("%s: %q, %v", name, out, err)
		}
	}
}

func TestEncodeRegionReportsCorruption(t *testing.T) {
	p, good := shardOfFour(t)
	far := bytes.Clone(good)
	far[8+9] = 1 // the length of the first is 256 more
	for name, stored := range map[string][]byte{"too short": good[10:], "no bytes": {}, "an entry that reaches too far": far} {
		out, err := p.EncodeRegion([]byte("before"), stored, region1(6, 2), Elems{Fixed: []byte("xy")})
		if !errors.Is(err, ErrCorrupt) || string(out) != "before" {
			t.Errorf("%s: %q, %v", name, out, err)
		}
	}
	p = mustNew(t, "["+shards("[4]", littleBytes+`,{"name":"gzip"}`)+"]", Form{Type: uint8Type, Shape: []int64{8}})
	stored, err := p.Encode(nil, Elems{Fixed: []byte("abcdefgh")})
	if err != nil {
		t.Fatal(err)
	}
	stored[0] = 0 // gzip's magic
	if _, err := p.EncodeRegion(nil, stored, region1(1, 2), Elems{Fixed: []byte("xy")}); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "inner chunk [0]") {
		t.Errorf("an inner chunk that is half replaced: %v", err)
	}
	if _, err := p.EncodeRegion(nil, stored, region1(0, 4), Elems{Fixed: []byte("wxyz")}); err != nil {
		t.Errorf("an inner chunk that is replaced: %v", err)
	}
}
