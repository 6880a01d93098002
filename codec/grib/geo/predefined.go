package geo

import (
	"errors"
	"fmt"
)

// Predefined returns the grid of a message of edition 1 that has only the number of a grid instead of a grid definition. No such grid is
// supported yet.
func Predefined(number int) (*Grid, error) {
	return nil, fmt.Errorf("the message has no grid definition, only the number %d of a grid: %w", number, errors.ErrUnsupported)
}
