package grid

// Reverse reverses the elements of data, which have a shape in C order, along an axis. An element is unit items.
func Reverse[T any](data []T, shape []int64, axis int, unit int64) {
	row := strideOf(shape, axis) * unit
	for block := row * shape[axis]; block > 0 && int64(len(data)) >= block; data = data[block:] {
		for from, to := int64(0), block-row; from < to; from, to = from+row, to-row {
			for i := range row {
				data[from+i], data[to+i] = data[to+i], data[from+i]
			}
		}
	}
}
