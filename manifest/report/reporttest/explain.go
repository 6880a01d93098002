package reporttest

import (
	"slices"

	"varve/manifest"
	"varve/manifest/report"
)

// ofAllFiles are findings that name the files that differ, and re-encode the chunks of all files.
var ofAllFiles = []report.Code{report.PackingDiffers, report.TypesDiffer, report.MissingDiffers, report.FillNeedsType, report.PrecisionLost,
	report.TimeUnitsDiffer, report.CalendarsConverted, report.CodecsUnsupported, report.CodecsInexact}

// Explains reports whether a finding about an array, or about cuts along one of its dimensions, names one of some files. Tests
// use it to check that a finding explains each re-encoded chunk.
func Explains(findings []report.Finding, a *manifest.Array, files []string) bool {
	hasDim := func(name string) bool {
		return slices.ContainsFunc(a.Dims, func(d string) bool { return report.Base(d) == name })
	}
	return slices.ContainsFunc(findings, func(f report.Finding) bool {
		isAbout := f.Array == a.Path || slices.Contains(f.Arrays, a.Path)
		switch dims, _ := f.Args["dims"].([]string); {
		case f.Code == report.Overlapping: // only a part of the files counts
			isAbout = slices.ContainsFunc(dims, hasDim)
		case f.Code == report.Joined, f.Code == report.Flipped, f.Code == report.LongitudesMoved: // files are cut, or in another order
			isAbout = hasDim(f.Dim)
		case isAbout && slices.Contains(ofAllFiles, f.Code):
			return true
		}
		return isAbout && f.Effect != report.Verbatim && slices.ContainsFunc(slices.Collect(f.Files.All()), func(url string) bool { return slices.Contains(files, url) })
	})
}
