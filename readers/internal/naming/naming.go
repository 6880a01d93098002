// Package naming makes unique names of variables and groups for formats in which two objects can
// have the same name, or none.
package naming

import (
	"fmt"
	"strings"
)

// Names returns each name once.
type Names struct {
	taken      map[string]bool // names that were returned
	lastNumber map[string]int  // last number appended to a name
}

// New returns an empty Names.
func New() Names { return Names{taken: map[string]bool{}, lastNumber: map[string]int{}} }

// Take returns the wanted name, or usual if wanted is empty. If the name is taken, it appends a
// number: name_2, name_3, …
func (n Names) Take(wanted, usual string) string {
	name := Clean(wanted)
	if name == "" {
		name = usual
	}
	base := name
	for n.taken[name] {
		// Continue at the last number, so that n equal names take n steps instead of n².
		n.lastNumber[base] = max(n.lastNumber[base], 1) + 1
		name = fmt.Sprintf("%s_%d", base, n.lastNumber[base])
	}
	n.taken[name] = true
	return name
}

// Clean returns name with slashes, which separate groups in paths, replaced by underscores.
func Clean(name string) string { return strings.ReplaceAll(name, "/", "_") }
