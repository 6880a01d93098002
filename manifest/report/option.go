package report

import "strings"

// Flag is an option as it is written on a command line, such as --allow '/data/my files'.
func Flag(name, value string) string { return "--" + name + " " + word(value) }

// ListFlag is Flag for an option that takes several values with commas between them, of which this
// is one.
func ListFlag(name, value string) string {
	if strings.ContainsAny(value, "\",\r\n") {
		value = `"` + strings.ReplaceAll(value, `"`, `""`) + `"`
	}
	return Flag(name, value)
}

// Broadcast is the option that lays a variable, and no other that a glob would match, along a dimension.
func Broadcast(path, dim string) string { return Flag("broadcast", globOf(path)+"="+dim) }

// Drop is the option that leaves out a variable by its name or path, and no other that a glob would
// match.
func Drop(path string) string { return ListFlag("drop", globOf(path)) }

// globOf is the glob that matches a name.
func globOf(name string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(name)
}

// word is what a shell takes for just this word.
func word(s string) string {
	isPlain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r > 0x7f || strings.ContainsRune("_-./:=@%+,", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !isPlain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
