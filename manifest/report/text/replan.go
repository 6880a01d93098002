package text

import "varve/manifest/report"

// replanWords says why an append planned all files again.
var replanWords = map[report.Replan]string{
	report.ReplanNoState:      "an earlier version of varve wrote the manifest, or a relocation changed the order of its files' names",
	report.ReplanOption:       "an option of the build decides about all files at once (padded, repack, keep-shards, or new-dim with a list of values or for several dimensions), or chunks are re-encoded with codecs that lose digits",
	report.ReplanReordered:    "files are brought to another range of longitudes, or are read backwards",
	report.ReplanVariants:     "files have different values of a coordinate that should be equal",
	report.ReplanTexts:        "texts are broadcast, and their size depends on all files",
	report.ReplanPlacement:    "files are not placed in an order that has an end: by increasing or decreasing numbers or times, by their names, by distinct texts, by one new dimension, or as layers of at most 256 tiles without gaps",
	report.ReplanInnerDim:     "an array whose values the manifest holds grows along a dimension that is not its first",
	report.ReplanManyHeaders:  "files differ in too many ways besides values of attributes",
	report.ReplanNewHeader:    "a new file differs from all old files in more than values of attributes",
	report.ReplanOtherFiles:   "a new file refers to other files",
	report.ReplanNewPosition:  "a new file does not follow all old files",
	report.ReplanDeclarations: "a new file changes what the arrays declare",
}
