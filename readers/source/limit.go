package source

// ShareOfOpen returns the number of files to keep open for reuse: at most `most`, and at most 1/part of the files that the
// process may have open.
func ShareOfOpen(most, part int) int { return min(most, max(OpenLimit()/part, 1)) }
