package report

// Fault identifies an error of an earlier version that stored manifests may contain.
type Fault string

// The faults.
const (
	UnnamedAxes   Fault = "unnamed-axes"   // unnamed dimensions with one generated number were taken for one dimension in all files
	LargeIntegers Fault = "large-integers" // integers of 2^63 or more were sorted before all others
	PaddedValues  Fault = "padded-values"  // values of shorter, padded files were not compared with the longest
	InvalidNames  Fault = "invalid-names"  // values of variables with names that are not UTF-8 were not found
)
