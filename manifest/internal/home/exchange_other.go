//go:build !linux && !darwin

package home

import "errors"

// exchange cannot be done in one step here.
func exchange(string, string) error { return errors.ErrUnsupported }
