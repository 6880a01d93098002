package zarrjson

import "varve/codec"

// clipField says that sharding_indexed is version 1.1, which clips inner chunks at the end of
// a shard: see codec.WithClipping. The codec's own configuration cannot express it. Programs
// that ignore the field refuse inner chunks that do not divide the shard, so they read no
// wrong values.
//
//	"varve_clipped_shards": {"must_understand": false}
const clipField = "varve_clipped_shards"

// readClipping takes the field, if it exists, and changes the codecs.
func (a *Array) readClipping(o *object) error {
	v, ok := o.take(clipField)
	if !ok {
		return nil
	}
	if !isIgnorable(v.raw) {
		return v.refuse(`{"must_understand": false}`)
	}
	a.Codecs = codec.WithClipping(a.Codecs)
	return nil
}

func (a *Array) writeClipping(w *writer) {
	if !codec.HasClipping(a.Codecs) {
		return
	}
	w.name(clipField)
	w.verbatim([]byte(`{"must_understand":false}`))
}
