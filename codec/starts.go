package codec

import (
	"varve/codec/internal/access"
	"varve/codec/internal/blosc"
	"varve/codec/internal/bzip2"
	"varve/codec/internal/inflate"
	"varve/codec/internal/lz4"
	"varve/codec/internal/xz"
	"varve/codec/internal/zstd"
)

// starts is the part of a spanCodec that has access points: the functions of its format.
type starts struct {
	find func(dst, src []byte, every int) (int, []access.Point, error)
	// resume decodes size bytes from a point on, as a part of room.
	resume func(room []byte, size int, window, src []byte, bit int) ([]byte, error)
	room   func(size int) int // see spanRoom
	// isRare says that most writers store a chunk as one block, which has one access point.
	isRare bool
}

func (s *starts) hasFewPoints() bool { return s.isRare }

func (s *starts) findPoints(dst, src []byte, every int) (n int, points []AccessPoint, windows [][]byte, err error) {
	n, found, err := s.find(dst, src, every)
	for _, p := range found {
		points = append(points, AccessPoint{int64(p.Out), int64(p.Bit), p.Window != nil})
		windows = append(windows, p.Window)
	}
	return n, points, windows, err
}

func (s *starts) spanRoom(size int) int { return s.room(size) }

func (s *starts) decodeSpan(room []byte, size int, window, src []byte, bit int) ([]byte, error) {
	return s.resume(room, size, window, src, bit)
}

// sameSize is the room of a format that writes only the wanted bytes.
func sameSize(size int) int { return size }

// The formats whose decoding can start at access points.
var (
	zlibStarts = starts{inflate.ZlibPoints, func(room []byte, size int, window, src []byte, bit int) ([]byte, error) {
		return inflate.Resume(room, size, window, src, bit, false)
	}, inflate.ResumeSize, false}

	gzipStarts = starts{inflate.GzipPoints, func(room []byte, size int, window, src []byte, bit int) ([]byte, error) {
		return inflate.Resume(room, size, window, src, bit, true)
	}, inflate.ResumeSize, false}

	zstdStarts = starts{zstd.Points, func(room []byte, size int, _, src []byte, _ int) ([]byte, error) {
		return zstd.Resume(room, size, src)
	}, zstd.ResumeSize, true}

	lz4Starts = starts{lz4.SizedPoints, resumeLZ4, lz4.ResumeSize, false}

	hdf5LZ4Starts = starts{lz4.HDF5Points, resumeLZ4, lz4.ResumeSize, false}

	bloscStarts = starts{blosc.Points, func(room []byte, size int, window, src []byte, _ int) ([]byte, error) {
		return room[:size], blosc.Resume(room[:size], window, src)
	}, sameSize, false}

	bzip2Starts = starts{bzip2.Points, func(room []byte, size int, _, src []byte, bit int) ([]byte, error) {
		return room[:size], bzip2.Resume(room[:size], src, bit)
	}, sameSize, false}

	xzStarts = starts{xz.Points, func(room []byte, size int, window, src []byte, _ int) ([]byte, error) {
		return room[:size], xz.Resume(room[:size], window, src)
	}, sameSize, true}
)

func resumeLZ4(room []byte, size int, window, src []byte, _ int) ([]byte, error) {
	return lz4.Resume(room, size, window, src)
}

// startingDecoder is a decoder with access points.
type startingDecoder struct {
	decoder
	*starts
}
