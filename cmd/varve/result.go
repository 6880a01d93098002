package main

import (
	"encoding/json"
	"io"

	"github.com/spf13/pflag"
)

// resultOptions are the flags of commands that report what they did.
type resultOptions struct {
	quiet, json bool
}

func (o *resultOptions) addFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.quiet, "quiet", false, "print errors only")
	f.BoolVar(&o.json, "json", false, "print the result as one JSON document")
}

// print writes the result of a command: as JSON if that is asked for, else as text. With --quiet it
// writes only JSON that is asked for.
func (o *resultOptions) print(out io.Writer, doc any, text string) error {
	switch {
	case o.json:
		return printJSON(out, doc)
	case o.quiet:
		return nil
	}
	_, err := io.WriteString(out, text)
	return err
}

// items is a slice that is [] in JSON when it is empty, and never null.
type items[T any] []T

func (l items[T]) MarshalJSON() ([]byte, error) {
	if len(l) == 0 {
		return []byte("[]"), nil
	}
	return json.Marshal([]T(l))
}
