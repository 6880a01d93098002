package report

// Code identifies a kind of finding. Codes are stable: scripts may depend on them. docs/reference/findings.md
// explains each with an example.
type Code string

// Findings about which files belong together.
const (
	NoVariables     Code = "no-requested-variables" // the options select no variable of some files
	UnmatchedGlob   Code = "pattern-unmatched"      // no variable matches a glob of an option
	ForeignFile     Code = "foreign-file"           // files share no variable with the others
	UnreadableFile  Code = "unreadable-file"        // a file cannot be read
	RepeatedSource  Code = "source-repeated"        // a file is named twice
	KnownSource     Code = "source-known"           // a file is in the manifest already
	Replanned       Code = "replanned"              // an append had to plan all files again
	ManifestSkipped Code = "manifest-skipped"       // a manifest in a folder of sources is skipped
	OutputSkipped   Code = "output-skipped"         // another output of varve in a folder of sources is skipped
	QueryStored     Code = "query-stored"           // stored parameters of URLs may be secrets
	QueryNotStored  Code = "query-not-stored"       // parameters of URLs may be secrets, and are not stored
	QueryNeeded     Code = "query-needed"           // a parameter of URLs that is not stored selects data
	NotSealed       Code = "manifest-not-sealed"    // reading the manifest needs the allow option
	StrictReencodes Code = "strict-reencodes"       // chunks would be re-encoded, which strict forbids
	SeveralDatasets Code = "several-datasets"       // the messages of GRIB files make several datasets, each in a group
)

// Findings about the order and the positions of files along dimensions.
const (
	LengthsDiffer     Code = "lengths-differ"         // files have different lengths along a concatenated dimension
	EmptyFile         Code = "file-empty"             // files have length 0 along a dimension
	GapBetweenFiles   Code = "gap"                    // steps are missing between files
	OrderByName       Code = "order-by-name"          // files are concatenated in the order of their names
	OrderByLeast      Code = "order-by-least-value"   // files interleave and are concatenated by their least values
	Joined            Code = "coordinates-joined"     // coordinates differ in part; their union or intersection is taken
	NoCommonLabel     Code = "no-common-label"        // no value of a coordinate is in all files
	LabelRepeated     Code = "label-repeated"         // a coordinate that is joined has a value twice
	OrderByDomain     Code = "order-by-domain"        // files are tiles, placed by their attributes DOMAIN_*
	OrderUnknown      Code = "order-unknown"          // the order of the files is unknown
	PositionUnknown   Code = "position-unknown"       // files lack the coordinate along which others are concatenated
	DirectionDiffers  Code = "direction-differs"      // coordinates run in opposite directions
	Flipped           Code = "flipped"                // coordinates run in opposite directions, and files are read backwards
	PartsMoved        Code = "parts-reordered"        // an array whose parts are in other files would be read in another order
	ValuesInterleave  Code = "values-interleave"      // coordinate values of files interleave
	OverlapUnknown    Code = "overlap-unknown"        // coordinates are too large to search for common values
	Overlapping       Code = "overlap"                // files hold the same positions
	NewDimMissing     Code = "new-dimension-value"    // files have no value for a new dimension
	ShortYears        Code = "two-digit-years"        // years in names have two digits
	NewDimTaken       Code = "new-dimension-name"     // an array has a dimension with the name of the new dimension
	MosaicIncomplete  Code = "mosaic-incomplete"      // no file covers part of the array
	MosaicSparse      Code = "mosaic-sparse"          // more than half of the array would be fill, so a coordinate is probably wrong
	PartsOverlap      Code = "parts-overlap"          // parts in other files overlap
	IndexAcrossFiles  Code = "index-into-file"        // an array holds indices into another array of its own file
	BroadcastUnplaced Code = "broadcast-unplaced"     // files lack the dimension along which an array is broadcast
	BroadcastTooLarge Code = "broadcast-too-large"    // a broadcast array is too large for the manifest
	StepWithoutDim    Code = "step-without-dimension" // files without a dimension are one step along it
)

// Findings about coordinates and static variables, which should be equal in all files.
const (
	CoordinateDiffers  Code = "coordinate-differs"      // values differ
	CoordinatePermuted Code = "coordinate-permuted"     // values are equal but in another order
	CoordinateNear     Code = "coordinate-near"         // values differ within the tolerance
	CoordinateKind     Code = "coordinate-kind-differs" // times in some files and numbers or text in others
	CoordinateUnits    Code = "coordinate-units-differ" // units of a coordinate differ
	CoordinateCalendar Code = "coordinate-calendar-differs"
	LongitudesMoved    Code = "longitudes-moved"     // longitudes are brought to another range
	LongitudesFixed    Code = "longitudes-fixed"     // longitudes cannot be brought to another range
	WidthsDiffer       Code = "widths-differ"        // lengths differ along a dimension that is not concatenated
	WidthsPadded       Code = "widths-padded"        // shorter files are padded with fill
	TextsPadded        Code = "texts-padded"         // shorter texts, of characters, are padded with NUL
	StaticDiffers      Code = "static-differs"       // a variable without a concatenated dimension differs
	TooLargeToCompare  Code = "too-large-to-compare" // a variable that should be equal is too large to compare
	BoundsTooLarge     Code = "bounds-too-large"     // time bounds are too large to convert
)

// Findings about variables and dimensions.
const (
	VariableAbsent     Code = "variable-absent"            // some files lack a variable
	VariableUnreadable Code = "variable-unreadable"        // no array can hold a variable
	VariableDamaged    Code = "variable-damaged"           // a variable cannot be read from a damaged file
	VariableElsewhere  Code = "variable-elsewhere"         // a variable's data are in a folder that is not allowed
	VariableIsGroup    Code = "variable-is-group"          // a variable has the path of a group
	NeverWritten       Code = "never-written"              // files declare a variable but never wrote it
	DimsTransposed     Code = "dimensions-transposed"      // files have the dimensions in another order
	DimsDiffer         Code = "dimensions-differ"          // files have other dimensions
	DimTwice           Code = "dimension-twice"            // an array has a concatenated dimension on two axes
	DimGuessed         Code = "dimension-guessed"          // no file names a dimension; varve guesses or generates a name
	DimAmbiguous       Code = "dimension-ambiguous"        // no file names a dimension that could be the concatenated one
	DimByPosition      Code = "dimension-by-position"      // unnamed dimensions take their names from other files
	DimPositionDiffers Code = "dimension-position-differs" // unnamed dimensions would take one name, but their lengths differ
)

// Findings about how values are stored.
const (
	ChunksDiffer      Code = "chunks-differ"         // chunk shapes differ
	NotOneRange       Code = "not-one-range"         // values without chunks are not stored as ranges of declared chunks
	FiltersSkipped    Code = "filters-skipped"       // a filter was not applied to chunks
	EdgesUnfiltered   Code = "edges-unfiltered"      // chunks at the end of a dimension have no filters
	ShortChunkPadded  Code = "short-chunk-padded"    // a file ends in a short chunk that is stored at full length
	ChunksLarge       Code = "chunks-large"          // a small part of a chunk would be much faster to read with access points
	CodecsDiffer      Code = "codecs-differ"         // codecs differ
	CodecSettings     Code = "codec-settings-differ" // settings differ that do not change decoding
	CodecsUnsupported Code = "codecs-unsupported"    // no Zarr client decodes the stored codecs
	CodecsInexact     Code = "codecs-inexact"        // the stored codecs cannot encode every value of re-encoded chunks
	CodecFromUnusable Code = "codec-from-unusable"   // the codecs of the chosen file cannot be declared
	TypesDiffer       Code = "types-differ"          // data types differ; a type that can represent all values is declared
	TypesConflict     Code = "types-conflict"        // data types differ, and no type can represent all values
	TypeImpossible    Code = "type-impossible"       // the chosen type cannot represent the values
	ValueImpossible   Code = "conversion-impossible" // values cannot be converted to the declared type
	PrecisionLost     Code = "precision-lost"        // the declared type rounds large integers
	EnumDiffers       Code = "enum-differs"          // a number of an enumeration has different names
	PackingDiffers    Code = "packing-differs"       // scale_factor, add_offset or _Unsigned differ
	Repacked          Code = "repacked"              // values are packed like most files; the largest change is stated
	RepackChanges     Code = "repack-changes"        // values would change by more than half of the scale_factor
	PackingInvalid    Code = "packing-invalid"       // packing attributes are invalid
	OffsetSubtracted  Code = "hdf4-offset"           // add_offset is subtracted, as in HDF4 and unlike in CF
	OffsetConflict    Code = "hdf4-offset-conflict"  // add_offset is subtracted, and varve would have to apply it
	FillDiffers       Code = "fill-differs"          // fill values differ
	MissingDiffers    Code = "missing-value-differs" // missing values differ
	FillChosen        Code = "fill-chosen"           // a missing value is declared that no file has
	FillNeedsType     Code = "fill-needs-type"       // the type has no unused value for missing elements
	FillAmbiguous     Code = "fill-ambiguous"        // elements that are in no file read as an ordinary value
	FillTime          Code = "fill-time"             // elements that are in no file have no time
	PartsFillDiffers  Code = "parts-fill-differs"    // fill values between parts of virtual variables differ
)

// Findings about attributes and times.
const (
	AttributeDiffers    Code = "attribute-differs"       // an attribute is left out because files have different values
	GridMappingDiffers  Code = "grid-mapping-differs"    // files have different map projections
	AttributeKept       Code = "attribute-kept"          // an attribute differs; the first file's value is kept
	AttributeUnreadable Code = "attribute-unreadable"    // an attribute is left out because JSON cannot represent it
	AttributeInvalid    Code = "attribute-invalid"       // an attribute cannot be written
	AttributeUnusable   Code = "attribute-of-stored"     // an attribute is left out because it describes stored numbers
	MaskUnusable        Code = "mask-unusable"           // an attribute is left out because xarray cannot use it for the type
	GroupAttributes     Code = "group-attributes-differ" // group attributes are left out because files have different values
	FlagsJoined         Code = "flags-joined"            // flags of files are joined
	UnitsDiffer         Code = "units-differ"            // files have different units
	UnitsMissing        Code = "units-missing"           // some files have no units, and all others have one unit
	UnitsSpelling       Code = "units-spelling"          // files spell one unit differently
	TimeUnitsDiffer     Code = "time-units-differ"       // times are converted to one reference
	TimeUnitsSpelling   Code = "time-units-spelling"     // files spell one reference time differently
	TimeZoneUnclear     Code = "time-zone-unclear"       // programs read the time zone of the units differently, so it is rewritten
	CalendarsConverted  Code = "calendars-converted"     // times are converted to one calendar
	CalendarsDiffer     Code = "calendars-differ"        // a day of one calendar may not exist in another
)
