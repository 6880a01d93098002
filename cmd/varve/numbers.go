package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/pflag"
)

// atLeast is the value of a flag for whole numbers with a minimum.
type atLeast[T int | int64] struct {
	to    *T
	least T
}

func (v atLeast[T]) String() string { return strconv.FormatInt(int64(*v.to), 10) }
func (v atLeast[T]) Type() string   { return "int" }

func (v atLeast[T]) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || int64(T(n)) != n || T(n) < v.least {
		return fmt.Errorf("want a whole number of at least %d", v.least)
	}
	*v.to = T(n)
	return nil
}

// addNumber declares a flag for a whole number. The present value is the default.
func addNumber[T int | int64](f *pflag.FlagSet, to *T, least T, name, says string) {
	f.Var(atLeast[T]{to, least}, name, says)
}

// addWorkers declares the flag for parallel work on chunks.
func addWorkers(f *pflag.FlagSet, to *int, says string) {
	addNumber(f, to, 0, "workers", says+" (default: number of cores)")
}

// addReaders declares the flag for files that are read at once.
func addReaders(f *pflag.FlagSet, to *int, says string) {
	addNumber(f, to, 0, "workers", says+" (default: number of cores; from servers: 64)")
}
