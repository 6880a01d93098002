package report

// Replan says why an append planned all files again.
type Replan string

// The reasons. Without one of them, an append plans only the new files and a few of the old ones.
const (
	ReplanNoState      Replan = "no-state"     // an earlier version or a relocation wrote the manifest, without what an append needs to know
	ReplanOption       Replan = "option"       // an option of the build decides about all files at once
	ReplanReordered    Replan = "reordered"    // files are read in another order along a dimension than they are stored
	ReplanVariants     Replan = "variants"     // files have several coordinates along a dimension that should be equal
	ReplanTexts        Replan = "texts"        // the size of broadcast texts depends on all files
	ReplanPlacement    Replan = "placement"    // files are not placed in an order that has an end
	ReplanInnerDim     Replan = "inner-dim"    // an array in the manifest grows along a dimension that is not its first
	ReplanManyHeaders  Replan = "many-headers" // too many files differ in more than values of attributes
	ReplanNewHeader    Replan = "new-header"   // a new file differs from all old files in more than values of attributes
	ReplanOtherFiles   Replan = "other-files"  // a new file refers to other files
	ReplanNewPosition  Replan = "new-position" // a new file does not follow all old files
	ReplanDeclarations Replan = "declarations" // a new file changes what the arrays declare
)
