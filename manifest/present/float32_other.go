//go:build !amd64 || purego

package present

func (l *float32Lanes) add(elems []byte, none float32) { l.portableAdd(elems, none) }
