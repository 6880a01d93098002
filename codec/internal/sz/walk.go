package sz

// rule says how a chunk's elements follow from those before them. V is what they are
// calculated in.
type rule[V any] interface {
	// first returns the element at the origin, which is stored.
	first() V
	// value returns an element from its type and what is predicted for it.
	value(t int32, predicted V) V
	// beyond is what stands for the neighbours beyond the border.
	beyond() V
	// line predicts from the two elements before, the nearer first.
	line(l, ll V) V
	// corner predicts from the seven neighbours that come before.
	corner(n *neighbours[V]) V
}

// neighbours are the elements of a cube of eight that come before the last: l to the left
// (the axis that varies fastest), u a row up, b a layer back, and their combinations.
type neighbours[V any] struct{ l, u, b, ul, bl, bu, bul V }

// walkLine decodes a chunk of one axis, whose elements are predicted to be as the one before.
func walkLine[V any, R rule[V]](r R, out []V, types []int32) {
	var before V
	for i, t := range types {
		before = r.value(t, before)
		out[i] = before
	}
}

// walk decodes layers of rows. Whatever the type of the element at the origin says, it is
// stored, and the others of the first row are predicted from two before.
func walk[V any, R rule[V]](r R, out []V, types []int32, dims [3]int) {
	rows, width := dims[1], dims[2]
	border := make([]V, width)
	for i := range border {
		border[i] = r.beyond()
	}
	walkFirstRow(r, out[:width], types)
	n := new(neighbours[V]) // one for all rows: what a rule gets the address of is on the heap
	for row := 1; row < dims[0]*rows; row++ {
		at := row * width
		up, back, backUp := border, border, border
		if row%rows > 0 {
			up = out[at-width:]
		}
		if row >= rows {
			back = out[at-rows*width:]
			if row%rows > 0 {
				backUp = out[at-rows*width-width:]
			}
		}
		walkRow(r, out[at:at+width], types[at:], [3][]V{up, back, backUp}, n)
	}
}

func walkFirstRow[V any, R rule[V]](r R, out []V, types []int32) {
	out[0] = r.first()
	for i := 1; i < len(out); i++ {
		predicted := out[i-1]
		if i > 1 {
			predicted = r.line(out[i-1], out[i-2])
		}
		out[i] = r.value(types[i], predicted)
	}
}

// walkRow decodes a row from the rows up, back, and back and up.
func walkRow[V any, R rule[V]](r R, out []V, types []int32, near [3][]V, n *neighbours[V]) {
	edge := r.beyond()
	n.l, n.ul, n.bl, n.bul = edge, edge, edge, edge
	up, back, backUp := near[0][:len(out)], near[1][:len(out)], near[2][:len(out)]
	for i, t := range types[:len(out)] {
		n.u, n.b, n.bu = up[i], back[i], backUp[i]
		n.l = r.value(t, r.corner(n))
		out[i] = n.l
		n.ul, n.bl, n.bul = n.u, n.b, n.bu
	}
}
