package names

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// checkName refuses what the system has no file of, or would write into something else: what
// stands behind a colon is a stream of the file before it, NUL is a device, and a dot or space at
// the end is left out.
func checkName(name string) error {
	odd := strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || strings.ContainsRune(`<>:"|?*\`, r) })
	if odd || !filepath.IsLocal(name) || strings.TrimRight(name, ". ") != name {
		return fmt.Errorf("Windows has no file called %q; rename it (varve build --rename): %w", name, errors.ErrUnsupported)
	}
	return nil
}
