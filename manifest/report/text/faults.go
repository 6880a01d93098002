package text

import "varve/manifest/report"

// faults says what an earlier version did wrong, as the rest of a sentence that begins with "an older varve".
var faults = map[report.Fault]string{
	report.UnnamedAxes:   "identified unnamed dimensions by their numbers, though a number can mean another dimension in another file",
	report.LargeIntegers: "sorted integers of 2^63 or more before all others",
	report.PaddedValues:  "padded shorter files without comparing their values with the longest file",
	report.InvalidNames:  "did not find the values of variables whose names are not UTF-8",
}

// Faults returns the text of each fault, in order.
func Faults(list []report.Fault) []string {
	var words []string
	for _, f := range list {
		words = append(words, faults[f])
	}
	return words
}
