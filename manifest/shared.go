package manifest

import "crypto/sha256"

// SharedVariables keeps one of all variables that are equal. Where each file has a header of its
// own, since the units of its times say when it begins, headers differ in one variable of many, and
// that is what one more of them should take in memory. It is for one goroutine at a time.
type SharedVariables map[[sha256.Size]byte]*Variable

// Share has the variables of a header be those that are kept, and keeps the ones that are new.
func (x SharedVariables) Share(h *Header) {
	for i := range h.Variables {
		sum := h.Variables[i].Sum()
		if x[sum] == nil {
			x[sum] = h.Variables[i]
		}
		h.Variables[i] = x[sum]
	}
}

// Sum is a hash of the variable: equal ones have the same.
func (v *Variable) Sum() [sha256.Size]byte {
	buf := keys.Get().(*[]byte)
	*buf = v.appendKey((*buf)[:0])
	sum := sha256.Sum256(*buf)
	keys.Put(buf)
	return sum
}
