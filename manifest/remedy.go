package manifest

// Remedy is an option that would avoid an error, by its name in the library: "rename", "drop". A command adds
// the name of its flag.
type Remedy struct {
	Option string
	Value  string // may hold words in capitals for the user to replace, such as OLD=NEW
}

// RemedyError is an error that options of a command would avoid. It says nothing of them itself.
type RemedyError struct {
	Err      error
	Remedies []Remedy
}

// WithRemedy returns an error together with the option that would avoid it.
func WithRemedy(err error, option, value string) *RemedyError {
	return &RemedyError{err, []Remedy{{option, value}}}
}

// Or adds another option that would avoid the error.
func (e *RemedyError) Or(option, value string) *RemedyError {
	e.Remedies = append(e.Remedies, Remedy{option, value})
	return e
}

// Error returns the text of the error without the remedies.
func (e *RemedyError) Error() string { return e.Err.Error() }

// Unwrap returns the error without the remedies.
func (e *RemedyError) Unwrap() error { return e.Err }
