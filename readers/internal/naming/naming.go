// Package naming names variables and groups after what formats allow, where two may have one
// name, or none.
package naming

import (
	"fmt"
	"strings"
)

// Names hands out each name once.
type Names struct {
	taken map[string]bool
	tried map[string]int // the last number that a name was given
}

// New returns Names of which none is taken.
func New() Names { return Names{taken: map[string]bool{}, tried: map[string]int{}} }

// Take returns the wanted name, or the usual one if none is wanted, and changes it if it is
// taken: to name_2, name_3, …
func (n Names) Take(wanted, usual string) string {
	name := Clean(wanted)
	if name == "" {
		name = usual
	}
	base := name
	for n.taken[name] {
		n.tried[base] = max(n.tried[base], 1) + 1
		name = fmt.Sprintf("%s_%d", base, n.tried[base])
	}
	n.taken[name] = true
	return name
}

// Clean is a name without slashes, which stand between groups.
func Clean(name string) string { return strings.ReplaceAll(name, "/", "_") }
