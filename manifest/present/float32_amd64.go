//go:build amd64 && !purego

package present

import "golang.org/x/sys/cpu"

// hasAVX2 selects the loop. It is a variable so that tests can turn it off.
var hasAVX2 = cpu.X86.HasAVX2

// add adds elements, whose number is a multiple of eight and at most laneElements.
func (l *float32Lanes) add(elems []byte, none float32) {
	if !hasAVX2 || len(elems) < 32 {
		l.portableAdd(elems, none)
		return
	}
	addAVX2(l, &elems[0], len(elems)/32, none)
}

// addAVX2 is portableAdd for n times eight elements, at least once.
//
//go:noescape
func addAVX2(l *float32Lanes, elems *byte, n int, none float32)
