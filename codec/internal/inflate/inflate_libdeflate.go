//go:build libdeflate && cgo

package inflate

// #cgo LDFLAGS: -ldeflate
// #cgo noescape varve_decompress
// #cgo nocallback varve_decompress
// #include <libdeflate.h>
//
// typedef struct { size_t in, out; enum libdeflate_result result; } varve_taken;
//
// static varve_taken varve_decompress(struct libdeflate_decompressor *d,
//		const void *in, size_t in_size, void *out, size_t out_size) {
//	varve_taken t = {0, 0, LIBDEFLATE_SUCCESS};
//	t.result = libdeflate_deflate_decompress_ex(d, in, in_size, out, out_size, &t.in, &t.out);
//	return t;
// }
import "C"

import (
	"runtime"
	"sync"
	"unsafe"
)

// isLenient reports whether this build may accept malformed codes that zlib rejects. libdeflate decodes
// bits that are no code, and unused symbols of the fixed code, as other symbols.
const isLenient = true

// A library is a decompressor of libdeflate. One goroutine may use it at a time. The garbage collector
// frees it.
type library struct {
	d *C.struct_libdeflate_decompressor
}

var libraries = sync.Pool{New: func() any {
	l := &library{C.libdeflate_alloc_decompressor()}
	if l.d != nil {
		runtime.AddCleanup(l, func(d *C.struct_libdeflate_decompressor) { C.libdeflate_free_decompressor(d) }, l.d)
	}
	return l
}}

// blocks decodes the DEFLATE stream at src[at:] to dst. It returns the decoded length and the end of
// the stream in src. libdeflate does not report why it rejects a stream, or where, so decode decodes
// such a stream again for its error.
func blocks(dst, src []byte, at int) (n, end int, err error) {
	l := libraries.Get().(*library)
	defer libraries.Put(l)
	if l.d == nil {
		return decode(dst, src, at)
	}
	in := src[at:]
	t := C.varve_decompress(l.d,
		unsafe.Pointer(unsafe.SliceData(in)), C.size_t(len(in)),
		unsafe.Pointer(unsafe.SliceData(dst)), C.size_t(len(dst)))
	if t.result != C.LIBDEFLATE_SUCCESS {
		return decode(dst, src, at)
	}
	return int(t.out), at + int(t.in), nil
}
