package geo

import (
	"errors"
	"fmt"
)

// Predefined returns a grid that edition 1 knows by its number, so that a message has no grid definition.
func Predefined(number int) (*Grid, error) {
	return nil, fmt.Errorf("a message without a grid definition, on the grid %d of its centre: %w", number, errors.ErrUnsupported)
}
