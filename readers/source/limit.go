package source

// ShareOfOpen is how many files may be kept open for later: at most so many, and no more than a part
// of those that the process may have open, one in so many.
func ShareOfOpen(most, part int) int { return min(most, max(OpenLimit()/part, 1)) }
