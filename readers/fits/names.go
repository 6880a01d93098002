package fits

import (
	"fmt"
	"strings"
)

// names hands out each name once.
type names struct {
	taken map[string]bool
	tried map[string]int // the last number that a name was given
}

func newNames() names { return names{taken: map[string]bool{}, tried: map[string]int{}} }

// take returns the wanted name, or the usual one if none is wanted, and changes it if it is
// taken: to name_2, name_3, …
func (n names) take(wanted, usual string) string {
	name := strings.ReplaceAll(wanted, "/", "_")
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
