package report

// Fault identifies an error of an earlier version that stored manifests may contain.
type Fault string

// The faults.
const (
	UnnamedAxes   Fault = "unnamed-axes"   // a number identified the same unnamed dimension in all files
	LargeIntegers Fault = "large-integers" // integers of 2^63 or more came before all others
	PaddedValues  Fault = "padded-values"  // values of shorter, padded files were not compared with the longest
	InvalidNames  Fault = "invalid-names"  // values of variables were not found whose names are not UTF-8
)
