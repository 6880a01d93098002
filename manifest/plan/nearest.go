package plan

import (
	"fmt"
	"strconv"
	"strings"
)

// DidYouMean returns " Did you mean …?" for the names that are most similar to a wrong one, or ""
// if none is similar.
func DidYouMean(wrong string, names []string) string {
	near := Nearest(wrong, names)
	if len(near) == 0 {
		return ""
	}
	for i, name := range near {
		near[i] = strconv.Quote(name)
	}
	return fmt.Sprintf(" Did you mean %s?", strings.Join(near, " or "))
}

// Nearest returns the names with the smallest edit distance to a wrong one. At most a third
// of the letters may differ, and at least one: "biuld" is near "build".
func Nearest(wrong string, names []string) (near []string) {
	least := max(len(wrong)/3, 1)
	if len(wrong) > 4 {
		// A swap of two letters, the most frequent mistake, counts as two edits.
		least = max(least, 2)
	}
	for _, name := range names {
		switch n := distance(wrong, name); {
		case n > least:
		case n < least:
			near, least = []string{name}, n
		default:
			near = append(near, name)
		}
	}
	return near
}

// distance returns the Levenshtein distance of two texts, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			changed := diagonal
			if a[i] != b[j] {
				changed++
			}
			diagonal = row[j+1]
			row[j+1] = min(changed, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
