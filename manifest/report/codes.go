package report

// Code identifies a kind of finding. Codes are stable: scripts may depend on them. docs/reference/findings.md
// explains each with an example.
type Code string

// Findings about which files belong together.
const (
	NoVariables     Code = "no-requested-variables" // the options leave nothing of some files
	ForeignFile     Code = "foreign-file"           // files share no variable with the others
	UnreadableFile  Code = "unreadable-file"        // a file cannot be read
	RepeatedSource  Code = "source-repeated"        // a file is given twice
	KnownSource     Code = "source-known"           // a file is in the manifest already
	ManifestSkipped Code = "manifest-skipped"       // a manifest in a folder of sources is skipped
	NotSealed       Code = "manifest-not-sealed"    // reading the manifest takes permission
	StrictReencodes Code = "strict-reencodes"       // chunks would be re-encoded though that is forbidden
)

// Findings about how files follow one another along dimensions.
const (
	LengthsDiffer     Code = "lengths-differ"         // files have different lengths along a concatenated dimension
	EmptyFile         Code = "file-empty"             // files have nothing along a dimension
	GapBetweenFiles   Code = "gap"                    // steps are missing between files
	OrderByName       Code = "order-by-name"          // files are concatenated in the order of their names
	OrderByLeast      Code = "order-by-least-value"   // files interleave and are concatenated by their least values
	Joined            Code = "coordinates-joined"     // coordinates differ in part; their union or intersection is taken
	NoCommonLabel     Code = "no-common-label"        // no value of a coordinate is in all files
	LabelRepeated     Code = "label-repeated"         // a coordinate that is joined has a value twice
	OrderByDomain     Code = "order-by-domain"        // files are tiles, placed by their attributes DOMAIN_*
	OrderUnknown      Code = "order-unknown"          // nothing says how files follow one another
	PositionUnknown   Code = "position-unknown"       // files lack the coordinate along which others are concatenated
	DirectionDiffers  Code = "direction-differs"      // coordinates run in opposite directions
	ValuesInterleave  Code = "values-interleave"      // coordinate values of files interleave
	OverlapUnknown    Code = "overlap-unknown"        // coordinates are too large to look for common values
	Overlapping       Code = "overlap"                // files hold the same places
	NewDimMissing     Code = "new-dimension-value"    // files have no value for a new dimension
	ShortYears        Code = "two-digit-years"        // years in names have two digits
	NewDimTaken       Code = "new-dimension-name"     // an array has a dimension of the name of the new one
	MosaicIncomplete  Code = "mosaic-incomplete"      // no file covers part of the array
	MosaicSparse      Code = "mosaic-sparse"          // more than half of the array would be fill: a coordinate is wrong
	PartsOverlap      Code = "parts-overlap"          // parts in other files overlap
	IndexAcrossFiles  Code = "index-into-file"        // an array holds indexes into its own file's part of another
	BroadcastUnplaced Code = "broadcast-unplaced"     // files lack the dimension along which an array is broadcast
	BroadcastTooLarge Code = "broadcast-too-large"    // a broadcast array takes too much of the manifest
	StepWithoutDim    Code = "step-without-dimension" // files without a dimension are one step along it
)

// Findings about coordinates and static variables, which should be equal in all files.
const (
	CoordinateDiffers  Code = "coordinate-differs"      // values differ
	CoordinatePermuted Code = "coordinate-permuted"     // values are the same in another order
	CoordinateNear     Code = "coordinate-near"         // values differ within the tolerance
	CoordinateKind     Code = "coordinate-kind-differs" // times in some files and numbers or text in others
	CoordinateUnits    Code = "coordinate-units-differ" // units of a coordinate differ
	CoordinateCalendar Code = "coordinate-calendar-differs"
	WidthsDiffer       Code = "widths-differ"        // lengths differ along a dimension that is not concatenated
	WidthsPadded       Code = "widths-padded"        // shorter files are followed by fill
	StaticDiffers      Code = "static-differs"       // a variable without the concatenated dimension differs
	TooLargeToCompare  Code = "too-large-to-compare" // a variable that should be equal is too large to check
	BoundsTooLarge     Code = "bounds-too-large"     // time bounds are too large to convert
)

// Findings about variables and dimensions.
const (
	VariableAbsent     Code = "variable-absent"            // some files lack a variable
	VariableUnreadable Code = "variable-unreadable"        // no array can hold a variable
	VariableDamaged    Code = "variable-damaged"           // a variable cannot be read from a damaged file
	VariableElsewhere  Code = "variable-elsewhere"         // a variable's data are in a folder that is not allowed
	VariableIsGroup    Code = "variable-is-group"          // a variable has the path of a group
	NeverWritten       Code = "never-written"              // files declare a variable and never wrote it
	DimsTransposed     Code = "dimensions-transposed"      // dimensions in another order
	DimsDiffer         Code = "dimensions-differ"          // other dimensions
	DimTwice           Code = "dimension-twice"            // a concatenated dimension on two axes of an array
	DimGuessed         Code = "dimension-guessed"          // no file names a dimension; a name is taken or made up
	DimAmbiguous       Code = "dimension-ambiguous"        // no file names a dimension that could be the concatenated one
	DimByPosition      Code = "dimension-by-position"      // unnamed dimensions take their names from other files
	DimPositionDiffers Code = "dimension-position-differs" // the same, but the lengths do not agree
)

// Findings about how values are stored.
const (
	ChunksDiffer       Code = "chunks-differ"         // chunk shapes differ
	ShortChunkPadded   Code = "short-chunk-padded"    // a file ends in a short chunk that is stored at full length
	CodecsDiffer       Code = "codecs-differ"         // codecs differ
	CodecSettings      Code = "codec-settings-differ" // settings differ that do not change decoding
	CodecsUnsupported  Code = "codecs-unsupported"    // no Zarr client decodes the stored codecs
	CodecsInexact      Code = "codecs-inexact"        // the stored codecs cannot encode every value that has to be
	CodecFromUnusable  Code = "codec-from-unusable"   // the file whose codecs are asked for cannot be followed
	TypesDiffer        Code = "types-differ"          // data types differ; one that holds all is declared
	TypesConflict      Code = "types-conflict"        // data types differ, and none holds all
	TypeImpossible     Code = "type-impossible"       // the type that is asked for cannot hold the values
	ValueImpossible    Code = "conversion-impossible" // values cannot be converted to the declared type
	PrecisionLost      Code = "precision-lost"        // the declared type rounds large integers
	EnumDiffers        Code = "enum-differs"          // a number has other names
	PackingDiffers     Code = "packing-differs"       // scale_factor, add_offset or _Unsigned differ
	PackingInvalid     Code = "packing-invalid"       // packing attributes make no sense
	HDF4Offset         Code = "hdf4-offset"           // add_offset has HDF4's meaning, not CF's
	HDF4OffsetConflict Code = "hdf4-offset-conflict"  // the same, where varve would have to compute with it
	FillDiffers        Code = "fill-differs"          // fill values differ
	MissingDiffers     Code = "missing-value-differs" // missing values differ
	FillChosen         Code = "fill-chosen"           // a missing value is declared that no file has
	FillNeedsType      Code = "fill-needs-type"       // no value of the type is free to mark missing cells
	FillAmbiguous      Code = "fill-ambiguous"        // cells in no file read as a number
	FillTime           Code = "fill-time"             // cells in no file have no time
	PartsFillDiffers   Code = "parts-fill-differs"    // fill values between parts differ
)

// Findings about attributes and times.
const (
	AttributeDiffers    Code = "attribute-differs"       // left out, since files have other values
	AttributeKept       Code = "attribute-kept"          // differs, and the first file's is kept
	AttributeUnreadable Code = "attribute-unreadable"    // left out, since JSON cannot hold it
	AttributeInvalid    Code = "attribute-invalid"       // cannot be written
	AttributeUnusable   Code = "attribute-of-stored"     // left out, since it describes numbers as they are stored
	MaskUnusable        Code = "mask-unusable"           // left out, since xarray cannot use it for the type
	GroupAttributes     Code = "group-attributes-differ" // left out, since files have other values
	FlagsJoined         Code = "flags-joined"            // flags of files are joined
	UnitsDiffer         Code = "units-differ"            // left out, since files have other units
	UnitsMissing        Code = "units-missing"           // some files have no units, and the others have one unit
	UnitsSpelling       Code = "units-spelling"          // the same unit in another spelling
	TimeUnitsDiffer     Code = "time-units-differ"       // times are converted to one reference
	TimeUnitsSpelling   Code = "time-units-spelling"     // the same reference in another spelling
	TimeZoneUnclear     Code = "time-zone-unclear"       // the zone of a reference is written so that programs agree on it
	CalendarsConverted  Code = "calendars-converted"     // times are converted to one calendar
	CalendarsDiffer     Code = "calendars-differ"        // the days of one calendar are not in another
)
