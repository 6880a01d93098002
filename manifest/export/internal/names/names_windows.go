package names

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"varve/manifest"
)

// checkName rejects names that Windows does not allow or would interpret: a colon begins the name of a stream,
// NUL is a device, and a dot or space at the end is removed.
func checkName(name string) error {
	odd := strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || strings.ContainsRune(`<>:"|?*\`, r) })
	if odd || !filepath.IsLocal(name) || strings.TrimRight(name, ". ") != name {
		return manifest.WithRemedy(fmt.Errorf("%q is not a valid file name on Windows: %w", name, errors.ErrUnsupported), "build/rename", "OLD=NEW")
	}
	return nil
}
