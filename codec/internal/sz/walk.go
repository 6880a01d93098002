package sz

// rule computes a chunk's elements from their types and the previous elements. V is the type of the
// computation.
type rule[V any] interface {
	// first returns the element at the origin, which is stored.
	first() V
	// value returns an element, given its type and its prediction.
	value(t int32, predicted V) V
	// beyond returns the value of neighbours outside the array.
	beyond() V
	// line returns a prediction from the previous two elements, the nearer first.
	line(l, ll V) V
	// corner returns a prediction from the seven previous neighbours.
	corner(n *neighbours[V]) V
}

// neighbours are the elements of a 2 × 2 × 2 cube except the last: l to the left (along the axis that
// varies fastest), u one row up, b one layer back, and their combinations.
type neighbours[V any] struct{ l, u, b, ul, bl, bu, bul V }

// walkLine decodes a chunk of one axis. The prediction of an element is the previous element.
func walkLine[V any, R rule[V]](r R, out []V, types []int32) {
	var before V
	for i, t := range types {
		before = r.value(t, before)
		out[i] = before
	}
}

// walk decodes a chunk of layers of rows. The element at the origin is stored, whatever its type. The
// others of the first row are predicted from the previous two.
func walk[V any, R rule[V]](r R, out []V, types []int32, dims [3]int) {
	rows, width := dims[1], dims[2]
	border := make([]V, width)
	for i := range border {
		border[i] = r.beyond()
	}
	walkFirstRow(r, out[:width], types)
	n := new(neighbours[V]) // one for all rows: passing its address to a rule moves it to the heap
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

// walkFirstRow decodes the first row of a chunk.
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

// walkRow decodes a row. near are the rows up, back, and back and up.
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
