package scan

import (
	"errors"
	"fmt"

	"varve/manifest"
	"varve/readers"
)

func (r *reading) placeVirtual(out *manifest.Variable, v *readers.Variable) error {
	return fmt.Errorf("a virtual dataset: %w", errors.ErrUnsupported)
}

func (r *reading) placeExternal(out *manifest.Variable, v *readers.Variable) error {
	return fmt.Errorf("values in external files: %w", errors.ErrUnsupported)
}
