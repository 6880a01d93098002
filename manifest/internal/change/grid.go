package change

import (
	"errors"
	"fmt"

	"varve/zarrjson"
)

// CheckGrid returns an error if an update of an export would change the regular chunk grid of an array to a rectilinear one, which
// programs that open the export may not read. The exports add their options as remedies.
func CheckGrid(dest, path string, was, is zarrjson.GridName) error {
	if was != zarrjson.Regular || is != zarrjson.Rectilinear {
		return nil
	}
	return fmt.Errorf("%s: an update would change the chunk grid of %s from regular to rectilinear, which fewer clients read; nothing was written: %w", dest, path, errors.ErrUnsupported)
}
