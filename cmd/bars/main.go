// Command bars measures what varve's core promises, beside its peers, in one run.
//
//	make bench
//
// A contestant in Python decodes the same chunks as varve, one pass by turns, so that
// whatever else the machine does meets both; the best passes are compared. Every row has a
// bar: the least that varve has to reach. The exit code is 1 when a row is below its own.
package main

import (
	"fmt"
	"os"
)

func main() {
	if err := measure(os.Stdout, os.Getenv("VARVE_PYTHON")); err != nil {
		fmt.Fprintln(os.Stderr, "bars:", err)
		os.Exit(1)
	}
}
