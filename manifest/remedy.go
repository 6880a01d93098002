package manifest

// Remedy is an option that would avoid an error. The command varve translates it to one of its flags.
type Remedy struct {
	Option string // the name of the option in the library, such as "rename" or "drop"
	Value  string // may contain words in capitals for the user to replace, such as OLD=NEW
}

// RemedyError is an error together with the options that would avoid it. Its text does not mention them.
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
