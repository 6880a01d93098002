package reporttest

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"varve/manifest/report"
	"varve/manifest/report/text"
)

// Recorder collects examples of findings from the tests of a package, for the documentation.
type Recorder struct {
	// Folder is a temporary folder, which examples show as /archive.
	Folder string

	mu       sync.Mutex
	examples map[report.Code][]string
}

// Add adds findings, up to a limit for each code.
func (r *Recorder) Add(findings []report.Finding) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.examples == nil {
		r.examples = map[report.Code][]string{}
	}
	for _, f := range findings {
		if len(r.examples[f.Code]) < mostExamples {
			r.examples[f.Code] = append(r.examples[f.Code], r.exampleOf(f))
		}
	}
}

// mostExamples limits the examples of one code, because random tests have very many findings.
const mostExamples = 1000

func (r *Recorder) exampleOf(f report.Finding) string {
	printer := text.Printer{Option: func(s report.Setting) string {
		if s.Option == report.Refresh {
			return "varve refresh OUT"
		}
		command, option, isOther := strings.Cut(string(s.Option), "/")
		if !isOther {
			command, option = "", command
		} else {
			command = "varve " + command + " "
		}
		return strings.TrimSpace(command + "--" + option + " " + s.Value)
	}}
	var b strings.Builder
	if err := printer.Report(&b, []report.Finding{f}); err != nil {
		panic(err) // a strings.Builder does not fail
	}
	example := strings.TrimSpace(b.String())
	if r.Folder != "" {
		example = strings.ReplaceAll(example, r.Folder, "/archive")
	}
	return example
}

// record is the flag of every test that uses a recorder.
// Record is the flag -record of tests, also of those that record other things.
var Record = flag.Bool("record", false, "write what a test records, such as the examples of findings")

// Main runs the tests of a package. If all tests ran and passed, it checks the file of examples, or writes it with
// -record. It returns the exit code for TestMain.
func (r *Recorder) Main(m *testing.M, examples string) int {
	code := m.Run()
	for _, part := range []string{"test.run", "test.skip", "test.list"} {
		if flag.Lookup(part).Value.String() != "" {
			return code // some tests did not run, so their examples are missing
		}
	}
	if code == 0 {
		if err := r.Check(examples); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}

// Check returns an error if a file of examples has an example that the tests no longer produce, or lacks a code.
// With -record it writes the file instead.
func (r *Recorder) Check(name string) error {
	had := map[report.Code]string{}
	data, err := os.ReadFile(name)
	if err != nil && !*Record {
		return err
	}
	for section := range strings.SplitSeq(string(data), "\n\n") {
		head, example, _ := strings.Cut(strings.TrimSpace(section), "\n")
		had[report.Code(strings.TrimPrefix(head, "## "))] = example
	}
	var out strings.Builder
	for _, code := range slices.Sorted(maps.Keys(r.examples)) {
		example := had[code]
		if !slices.Contains(r.examples[code], example) {
			switch {
			case *Record:
			case example == "":
				return fmt.Errorf("%s: %s has no example: run the tests with -record", name, code)
			default:
				return fmt.Errorf("%s: the example of %s is not produced any more: run the tests with -record", name, code)
			}
			example = r.examples[code][0]
		}
		fmt.Fprintf(&out, "## %s\n%s\n\n", code, example)
	}
	if *Record {
		return os.WriteFile(name, []byte(out.String()), 0o666)
	}
	return nil
}
