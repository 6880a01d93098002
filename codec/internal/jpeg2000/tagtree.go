package jpeg2000

// tagTree codes a number for each code-block of a precinct (B.10.2). A node is the least of its up
// to four children, so a lower bound of a node also holds for its children. Leaves come first.
type tagTree struct {
	nodes []tagNode
}

type tagNode struct {
	parent int32 // -1 at the root
	low    int32 // the number is at least this
	known  bool  // low is the number
}

func newTagTree(wide, high int) tagTree {
	total := 0
	for w, h := wide, high; ; w, h = (w+1)/2, (h+1)/2 {
		total += w * h
		if w*h <= 1 {
			break
		}
	}
	t := tagTree{make([]tagNode, total)}
	at := 0
	for w, h := wide, high; ; w, h = (w+1)/2, (h+1)/2 {
		next := at + w*h
		for i := range w * h {
			t.nodes[at+i].parent = int32(next + i/w/2*((w+1)/2) + i%w/2)
		}
		if w*h <= 1 {
			t.nodes[at].parent = -1
			return t
		}
		at = next
	}
}

// below reads whether the number of a leaf is below a threshold.
func (t *tagTree) below(r *headerBits, leaf int, threshold int32) bool {
	var path [32]int32
	n := 0
	for i := int32(leaf); i >= 0; i = t.nodes[i].parent {
		path[n] = i
		n++
	}
	low := int32(0)
	for n--; n >= 0; n-- {
		node := &t.nodes[path[n]]
		node.low = max(node.low, low)
		for node.low < threshold && !node.known {
			if r.bit() == 1 {
				node.known = true
			} else {
				node.low++
			}
		}
		low = node.low
	}
	leafNode := &t.nodes[leaf]
	return leafNode.known && leafNode.low < threshold
}
