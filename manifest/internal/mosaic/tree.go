package mosaic

// boxTree finds tiles by bounding boxes. Its lowest level has the boxes of the tiles, in their order. Each
// level above has one box around every 16 boxes of the level below. It is for tiles that do not form a
// grid, which occur in HDF5's virtual datasets.
type boxTree struct {
	rank   int
	count  int
	levels [][]int64 // boxes as origin and end; the tiles are first, the single root is last
}

const treeWidth = 16

func newBoxTree(l *Layout) *boxTree {
	b := &boxTree{rank: len(l.dims), count: l.n}
	own := make([]int64, 0, 2*b.rank*l.n)
	for t := range int32(l.n) {
		for k := range l.dims {
			from, _ := l.ends(t, k)
			own = append(own, from)
		}
		for k := range l.dims {
			_, to := l.ends(t, k)
			own = append(own, to)
		}
	}
	b.levels = append(b.levels, own)
	for n := l.n; n > 1; n = (n + treeWidth - 1) / treeWidth {
		b.levels = append(b.levels, b.above(b.levels[len(b.levels)-1], n))
	}
	return b
}

// above returns a box around every 16 of n boxes.
func (b *boxTree) above(boxes []int64, n int) []int64 {
	size := 2 * b.rank
	var up []int64
	for i := range n {
		box := boxes[i*size : (i+1)*size]
		if i%treeWidth == 0 { // the first box of a new parent
			up = append(up, box...)
			continue
		}
		around := up[len(up)-size:]
		for k := range b.rank {
			around[k] = min(around[k], box[k])
			around[b.rank+k] = max(around[b.rank+k], box[b.rank+k])
		}
	}
	return up
}

// appendMeeting appends the tiles that intersect the box from origin to end, in increasing order.
func (b *boxTree) appendMeeting(found []int32, origin, end []int64) []int32 {
	if b.count == 0 {
		return found
	}
	return b.descend(found, len(b.levels)-1, 0, [2][]int64{origin, end})
}

// descend appends the tiles below box i of a level that intersect the box from with[0] to with[1].
func (b *boxTree) descend(found []int32, level, i int, with [2][]int64) []int32 {
	size := 2 * b.rank
	box := b.levels[level][i*size : (i+1)*size]
	for k := range b.rank {
		if box[k] >= with[1][k] || box[b.rank+k] <= with[0][k] || box[k] == box[b.rank+k] {
			return found
		}
	}
	if level == 0 {
		return append(found, int32(i))
	}
	below := len(b.levels[level-1]) / size
	for j := i * treeWidth; j < min((i+1)*treeWidth, below); j++ {
		found = b.descend(found, level-1, j, with)
	}
	return found
}
