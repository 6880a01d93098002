package file

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/klauspost/compress/zstd"

	"varve/readers"
)

// packed returns a buffer as a file.
func packed(t testing.TB, k Kind, buffer []byte) []byte {
	t.Helper()
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	head := append([]byte(Magic), bytes.Repeat([]byte(" "), ClientSize)...)
	return e.EncodeAll(buffer, append(head, 2, byte(k), Zstd))
}

func TestHeaders(t *testing.T) {
	good := packed(t, Snapshot, []byte("buffer"))
	if b, err := Unpack(good, Snapshot); err != nil || string(b.Bytes()) != "buffer" || b.Version() != 2 {
		t.Fatalf("got %+v, %v", b, err)
	}
	for _, test := range []struct {
		name string
		at   int
		to   byte
		want error
	}{
		{"magic", 0, 'X', readers.ErrCorrupt},
		{"version", HeaderSize - 3, 3, errors.ErrUnsupported},
		{"kind", HeaderSize - 2, byte(Manifest), readers.ErrCorrupt},
		{"compression", HeaderSize - 1, 0, errors.ErrUnsupported},
		{"frame", HeaderSize, 0, readers.ErrCorrupt},
	} {
		data := bytes.Clone(good)
		data[test.at] = test.to
		if _, err := Unpack(data, Snapshot); !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, err, test.want)
		}
	}
	for n := range good {
		if _, err := Unpack(good[:n], Snapshot); n < HeaderSize && !errors.Is(err, readers.ErrCorrupt) {
			t.Errorf("%d bytes: got %v", n, err)
		}
	}
}

// TestBomb decodes a few bytes that expand to many.
func TestBomb(t *testing.T) {
	bomb := packed(t, Repo, make([]byte, 64<<20))
	if _, err := Unpack(bomb, Repo); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%d bytes that decode to 64 MiB: got %v", len(bomb), err)
	}
}

// TestOffsets reads offsets, vtables and vectors that lead out of the buffer.
func TestOffsets(t *testing.T) {
	u32 := func(list ...uint32) []byte {
		var b []byte
		for i, v := range list {
			if b = binary.LittleEndian.AppendUint32(b, v); i == 0 {
				b = append(b, Identifier...)
			}
		}
		return b
	}
	for _, test := range []struct {
		name string
		data []byte
	}{
		{"nothing", nil},
		{"no identifier", []byte("\x08\x00\x00\x00XXXX")},
		{"root", u32(0xffffffff)},
		{"vtable before the buffer", u32(8, 1000)},
		{"vtable after the buffer", u32(8, 0x80000000)},
		{"vtable too long", u32(12, 0x0004ffff, 4)},
		{"vector too long", u32(16, 0x00080006, 4, 8, 4, 0xffffff)},
		{"offset of a field", u32(16, 0x00080006, 0xffff, 8)},
	} {
		b := NewBuffer(test.data)
		for n := range 5 {
			v := b.Root().Vector(n, 4)
			for i := range min(v.N, 10) {
				v.Table(i).Bytes(0)
			}
		}
		if !errors.Is(b.Err(), readers.ErrCorrupt) {
			t.Errorf("%s: got %v", test.name, b.Err())
		}
	}
}

func TestName(t *testing.T) {
	id, err := hex.DecodeString("0b1cc8d6787580f0e33a6534")
	if err != nil {
		t.Fatal(err)
	}
	if got := Name(id); got != "1CECHNKREP0F1RSTCMT0" {
		t.Errorf("got %s", got)
	}
}
