// Command bars compares varve's speed and memory with required values and with peers.
//
//	make bench
//
// A Python process (the peer) decodes the same chunks as varve. The two take turns, one pass
// each, so that other load on the machine slows both; the fastest passes are compared. Every
// row has a bar, the value that varve must reach. The exit code is 1 if a row misses its bar. With -passes 1 the rows are
// measured once and not judged: that shows only that everything runs.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
)

func main() {
	if len(os.Args) == 4 && os.Args[1] == "read" {
		if err := readOnce(context.Background(), os.Stdout, os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, "bars:", err)
			os.Exit(1)
		}
		return
	}
	passes := flag.Int("passes", judged, "passes of each row; with fewer than the default, rows are not judged")
	flag.Parse()
	if err := measure(os.Stdout, os.Getenv("VARVE_PYTHON"), *passes); err != nil {
		fmt.Fprintln(os.Stderr, "bars:", err)
		os.Exit(1)
	}
}
