package source

import "context"

// Operation is something that takes time.
type Operation struct {
	// Name is the name of the operation: "source.read" reads bytes of a source from its storage, "store.read" elements of an
	// array, and "store.chunk" the bytes of a chunk. "store.decode" decodes a stored chunk, or the part of it that access
	// points allow to decode alone. "store.points" is called, with an error, if access points cannot be used.
	// "source.inflate" decompresses bytes of a packed file. "source.unpack" decompresses all of its outer file, to find
	// access points.
	Name string
	// Object is the source, without secrets, or the path of the array.
	Object string
	// Offset and Bytes are the range that a source reads. For "store.decode", Offset is that of the stored chunk. For it and
	// "source.inflate", Bytes is the number of decoded bytes.
	Offset, Bytes int64
}

// TraceFunc is called when an operation begins. It returns the context of the operation, so that operations in it can
// be told from others, and a function that is called with the result when it ends. Any number of goroutines call it.
// The span of a tracer such as OpenTelemetry's begins in it, and ends in the function that it returns.
type TraceFunc func(ctx context.Context, op Operation) (context.Context, func(error))

// Begin begins an operation. A nil TraceFunc does nothing.
func (t TraceFunc) Begin(ctx context.Context, op Operation) (context.Context, func(error)) {
	if t == nil {
		return ctx, func(error) {}
	}
	return t(ctx, op)
}
