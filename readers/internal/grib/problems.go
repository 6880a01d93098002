package grib

import (
	"fmt"

	"varve/readers"
)

// maxProblems bounds the problems that are listed one by one: each "GRIB" in a damaged file can be one.
const maxProblems = 1000

// moreProblems is the last problem of a file that has more than maxProblems. It counts the problems that are not listed.
type moreProblems struct {
	count int
	first error
}

func (e *moreProblems) Error() string {
	return fmt.Sprintf("%d more messages or fields cannot be read, the first because of: %v", e.count, e.first)
}

func (e *moreProblems) Unwrap() error { return e.first }

// addProblem appends a problem to a list, or counts it in the last problem of a full list.
func addProblem(list []readers.Problem, path string, err error) []readers.Problem {
	if len(list) < maxProblems {
		return append(list, readers.Problem{Path: path, Err: err})
	}
	if len(list) == maxProblems {
		return append(list, readers.Problem{Path: "/other messages", Err: &moreProblems{1, err}})
	}
	more := list[maxProblems].Err.(*moreProblems)
	list[maxProblems].Err = &moreProblems{more.count + 1, more.first} // a new error, since a clone of the list shares the old one
	return list
}
