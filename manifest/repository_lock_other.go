//go:build !unix

package manifest

import (
	"errors"
	"fmt"
	"os"
)

const forReading = os.O_RDONLY

// lockFile refuses: without locks two writers could both win.
func lockFile(f *os.File, _ lockMode) error {
	return fmt.Errorf("%s: writing manifests on this system: %w: it has no flock", f.Name(), errors.ErrUnsupported)
}
