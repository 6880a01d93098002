package cf

import (
	"errors"

	"varve/codec"
	"varve/manifest"
)

// Times are the times of one file, as they are stored.
type Times struct {
	Units    Units
	Packing  Packing    // masks are no time; scales are refused
	Type     codec.Type // numbers
	Elements []byte     // in memory form
}

// TimesOf joins a variable and its values.
func TimesOf(v *manifest.Variable, values *manifest.Values) (Times, error) {
	return Times{}, errors.ErrUnsupported
}

// Instants returns the moments, as xarray decodes them. Where there is none, ok is false.
func (t Times) Instants() (at []Instant, ok []bool, err error) {
	return nil, nil, errors.ErrUnsupported
}

// Reference is what the times of many files are told in.
type Reference struct {
	Units    Units
	Calendar string     // the attribute; empty if the files have none
	Text     string     // the attribute units
	Type     codec.Type // int64 or float64, or what the files have
	Fill     []byte     // one element for what is no time; nil if all are
}

// Retime finds one reference for the times of many files: that of the files if they agree,
// else the coarsest unit in which all are whole numbers.
func Retime(files []Times) (Reference, error) { return Reference{}, errors.ErrUnsupported }

// Elements returns times told in the reference.
func (r Reference) Elements(t Times) ([]byte, error) { return nil, errors.ErrUnsupported }
