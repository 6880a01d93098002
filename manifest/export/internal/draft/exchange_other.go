//go:build !linux && !darwin

package draft

import "errors"

// exchange cannot be done in one step here.
func exchange(string, string) error { return errors.ErrUnsupported }
