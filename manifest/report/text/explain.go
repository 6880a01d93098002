package text

import (
	"embed"
	"strings"

	"varve/manifest/report"
)

// Explain returns what a finding means and what to do about it, or false if there is no such code.
func Explain(code report.Code) (string, bool) {
	e, ok := explanations[code]
	return e, ok
}

//go:embed examples
var examples embed.FS

// Example returns an example of a code's findings, as a command prints it. The tests recorded it.
func Example(code report.Code) string {
	for _, name := range []string{"examples/plan.txt", "examples/schema.txt", "examples/build.txt"} {
		data, err := examples.ReadFile(name)
		if err != nil {
			continue // the examples of this package have not been recorded yet
		}
		for section := range strings.SplitSeq(string(data), "\n\n") {
			if head, text, ok := strings.Cut(strings.TrimSpace(section), "\n"); ok && head == "## "+string(code) {
				return text
			}
		}
	}
	return ""
}

// explanations says for each code why varve reports it and what a user can do.
var explanations = map[report.Code]string{
	report.NoVariables: "The options vars, drop or group leave no variable of these files, so the dataset does not contain them. Change the options if you need these files.",
	report.UnmatchedGlob: "A glob of the options vars or drop matches no variable of any file, so it changes nothing. It may have a spelling mistake. A name without *, ? or [ is refused then. " +
		"Globs of a recipe or of a file of options, and those with which a manifest was built, may match nothing and are not reported.",
	report.ForeignFile: "These files have no variable in common with the others, and no grid or attribute relates them. Often such a file, for example a log, is in the folder by mistake. " +
		"Files that complement one another share a coordinate, or the longest dimension of one of them, or their attributes name one another's variables. If such a file belongs to the dataset, for example one with data of the edges of a mesh, keep it.",
	report.UnreadableFile: "The file is damaged, incomplete, or of a format that varve does not read. The reason names the object and the offset where reading failed.",
	report.RepeatedSource: "A file that is named twice would be in the dataset twice. Remove one of the two names.",
	report.KnownSource:    "The manifest holds these files already. An append refuses them, unless you let it skip files that have not changed.",
	report.Replanned: "Usually an append plans only the new files, with a few of the old ones, so that it takes as long for a million files as for ten. " +
		"This append planned all files from what the manifest stores, which takes more time and memory for each file. The result is the same.",
	report.OutputSkipped:   "A folder or glob of sources also holds an export or a kept scan that varve wrote. It has the data of the files beside it, so it is skipped. To read it, give its name.",
	report.ManifestSkipped: "A folder of sources also holds a manifest that varve wrote. It is not a source, so it is skipped.",
	report.QueryStored: "An older varve stored whole URLs of sources, with parameters that may be secrets, such as a key or a signature. Whoever has the manifest can read them. " +
		"Build the manifest again, or write the names without these parameters: `varve relocate OUT https://HOST/ https://HOST/`, with the credentials of an access file or a header. " +
		"Older snapshots have them until `varve gc` removes these. Withdraw keys that were published.",
	report.QueryNotStored: "The URLs have parameters after the question mark. varve stores only those that are known to select data, because any other may be a secret, such as a key or a signature. " +
		"The command used the whole URLs. Later commands use the stored ones, with the credentials of an access file or a header.",
	report.QueryNeeded: "The URLs have parameters that varve would not store, because they may be secrets. " +
		"But without them two sources would have the same name, or the stored name would lead to another file or to none. Store them if they are no secrets.",
	report.NotSealed: "A manifest that you build is sealed: it may read its sources without further permission. " +
		"This one could not be sealed, or not for sources that somebody else's scan part names. So every command that reads these needs an option that allows their folders.",
	report.StrictReencodes: "A strict plan refuses an array whose chunks cannot all be served as they are stored.",
	report.SeveralDatasets: "The GRIB files have several grids, or their messages have such different times, lead times or members that a common array would be more than half empty. " +
		"cfgrib refuses such files and asks for filter_by_keys. Each set of messages with a common grid and common coordinates is a dataset in a group.",

	report.LengthsDiffer: "Files of one archive often differ in length, as months do. Nothing is wrong: the array has chunks of several lengths where the files have such chunks, and every chunk stays as it is stored.",
	report.EmptyFile:     "These files have length 0 along the dimension, for example because a file was created and never filled. They add no elements to the dataset.",
	report.GapBetweenFiles: "The step from one file to the next is much longer than the steps within them. A file may be missing. " +
		"The coordinate has the same gap: varve adds no values.",
	report.OrderByName: "No file has values of the dimension, so files are concatenated in the order of their names. Numbers in names are compared as numbers.",
	report.OrderByLeast: "The values of these files interleave, and you chose to concatenate them. They are ordered by the least value of each file, " +
		"so the combined coordinate is not sorted.",
	report.Joined: "Files have partly different values of a coordinate, such as other depths, and you chose how to join them, as in xarray. " +
		"An outer join takes all values and fills what a file lacks; an inner join takes the values that all files have. Every value keeps its own label.",
	report.NoCommonLabel: "An inner join takes the values that all files have, and there are none. An outer join takes all values.",
	report.LabelRepeated: "To join coordinates, each value has to name one position of a file. These files have a value several times, or a missing one.",
	report.OrderByDomain: "NEMO writes one file for each processor, and attributes that say which tile of the whole it is. The tiles are placed by them.",
	report.OrderUnknown: "Several files hold the same variable, and no coordinate has values that order the files. " +
		"Name the dimension along which they are concatenated, or add a new dimension.",
	report.PositionUnknown: "Other files have values of this coordinate and are ordered by them. These files have none, so their position is unknown.",
	report.DirectionDiffers: "A coordinate increases in some files and decreases in others, so the files cannot be concatenated as they are stored. " +
		"Read the odd files backwards, build a manifest for each direction, or leave the odd files out.",
	report.Flipped: "A coordinate increases in some files and decreases in others, and you chose to read files backwards along it. All their values are in the positions " +
		"that the combined coordinate says. Their chunks are re-encoded.",
	report.PartsMoved: "A virtual variable (an HDF5 virtual dataset) has its values in other files. You chose to bring coordinates to another range or direction, " +
		"which is not possible for such a variable. Leave it out.",
	report.ValuesInterleave: "The files hold alternating values of a coordinate, so no file comes before another. This happens with stations or instruments that were recorded at the same times.",
	report.OverlapUnknown: "The ranges of these coordinates overlap. To find common values, all values must be compared one by one, " +
		"and there are more than the limit for values in memory.",
	report.Overlapping: "Two files hold the same positions of an array, for example because a new version covers days of the old one. Equal values are taken once. If they differ, choose which file is used. " +
		"If the files are members of an ensemble or runs of a model, they need a new dimension.",
	report.NewDimMissing: "The option for a new dimension takes its value from a name, an attribute or a variable, and these files have none.",
	report.ShortYears: "The pattern for a new dimension takes years of two digits from the files' names. They are read as POSIX does: " +
		"69 to 99 are 1969 to 1999, and 00 to 68 are 2000 to 2068. If that is wrong, give the times in another way, such as a list.",
	report.NewDimTaken:      "The files have a dimension of this name in the same group. Rename it, or give the existing dimension values instead.",
	report.MosaicIncomplete: "Files cover parts of the array along several dimensions, and some parts are covered by none. They read as the fill value.",
	report.MosaicSparse: "These files have values of a coordinate that no other file has, so most of the array would be fill. Probably one file has a wrong coordinate. " +
		"If the mosaic is correct, name its dimensions.",
	report.PartsOverlap:      "The parts of a virtual variable (an HDF5 virtual dataset) overlap, and it is not known which part provides the values.",
	report.IndexAcrossFiles:  "The array holds positions within another array of its own file, as sparse matrices, meshes and ragged arrays do. Concatenated, the positions would point at another file's elements.",
	report.BroadcastUnplaced: "The array is broadcast along a dimension that these files do not have, so their values have no position.",
	report.BroadcastTooLarge: "Values of this type can only be stored in the manifest, and repeating them along the dimension would make it too large.",
	report.StepWithoutDim: "Some files hold one step of an array without the dimension for it, as the last file of a series often does. " +
		"A scalar variable in the file says which step it is, and gives it a position along the dimension.",

	report.CoordinateDiffers: "A coordinate along which files are not concatenated has to be equal in all of them, or values of different positions would share an index. " +
		"If the difference is rounding, give a tolerance, or take the first file's values. A larger difference means another grid, or other labels: " +
		"join the values, so that each keeps its own, or build a manifest for each grid. The first file's values would then give data to wrong positions.",
	report.CoordinatePermuted: "The files have the same coordinate values in another order. Taking the first file's values would assign data to wrong positions, so no option allows it. " +
		"Build a manifest for each order.",
	report.LongitudesMoved: "You chose the range of longitudes. 360 degrees were added or subtracted where the files have another range, also in the bounds of cells, and the files are read " +
		"from the first longitude of the range. A file that wraps there has two parts: chunks that contain both are re-encoded, the others are verbatim if the array declares their length.",
	report.LongitudesFixed: "You chose the range of longitudes, but these files cannot be brought to it: two of their cells would have one longitude, or the type of the values has no such numbers. " +
		"Choose the other range, or build a manifest for each range.",
	report.CoordinateNear:  "The values differ by less than the tolerance that you gave, so they count as equal.",
	report.CoordinateKind:  "The coordinate holds times in some files and plain numbers or text in others. They cannot be compared, so the files cannot be put in order.",
	report.CoordinateUnits: "The units of a coordinate differ, or some files have none. If the numbers are equal nevertheless, use the first file's coordinate. If they differ, build a manifest for each unit.",
	report.CoordinateCalendar: "Times of different calendars have no common order: 30 February exists in one of them only. " +
		"Build a manifest for each calendar, or leave the odd files out.",
	report.WidthsDiffer: "A dimension along which files are not concatenated has different lengths. Shorter files can be followed by fill, if they begin like the longer ones, " +
		"or files must be concatenated along the dimension.",
	report.TextsPadded:  "The last dimension of an array of characters is the length of its texts. Texts of some files are shorter, and are followed by NUL, which ends texts for all programs.",
	report.WidthsPadded: "Shorter files are padded with the fill value, because you chose that.",
	report.StaticDiffers: "A variable without the concatenated dimension exists once in the dataset, so all files have to agree on it. If each file has its own values, broadcast it along the dimension. " +
		"If it does not matter, take the first file's values or leave the variable out.",
	report.TooLargeToCompare: "A static variable has to be equal in all files, and comparing it would take more memory than allowed.",
	report.BoundsTooLarge:    "Time bounds are converted together with the times that they belong to, and kept in the manifest. These are too large for that.",

	report.VariableAbsent: "Some files lack a variable that others have. Where they are, the array holds its fill value, unless you drop the variable or refuse the files. " +
		"An append refuses a variable that no file of the manifest has, if its array would be fill at all old positions: the new files may be of another product.",
	report.VariableUnreadable: "The variable has a type or structure that Zarr cannot express. It is left out; the others are not affected. If only coordinates would remain, the build is refused, unless you drop the variable by name.",
	report.VariableDamaged:    "The variable cannot be read because the file is damaged there. Without it, the rest of the file can be used.",
	report.VariableElsewhere:  "The variable's values are in another file, outside of the folder of the file that names it. For safety, varve reads such files only from folders that you allow.",
	report.VariableIsGroup:    "Zarr has one namespace for arrays and groups: a path is one of them in all files.",
	report.NeverWritten:       "The files declare the variable and never wrote a value. It reads as the fill value there.",
	report.DimsTransposed:     "Some files store the dimensions in another order. Their chunks are transposed when they are read, which takes re-encoding them.",
	report.DimsDiffer:         "A variable has other dimensions in some files. If a dimension only has another name, rename it. If the files lack a dimension, they may be single steps of it.",
	report.DimTwice:           "An array cannot be concatenated along a dimension that it has on two axes: a file would cover only the diagonal.",
	report.DimGuessed: "HDF5 files need not name the dimensions of a variable. varve takes the name of a dimension of the same length if there is only one candidate, as netCDF does; " +
		"otherwise it generates a name.",
	report.DimAmbiguous:       "The files do not name a dimension, and it may be the one along which files are concatenated. A wrong guess would mix values, so you must name the dimension.",
	report.DimByPosition:      "These files do not name dimensions that other files name for the same variable. The names are taken by position.",
	report.DimPositionDiffers: "By position, two axes would share a dimension, and their lengths differ. Leave one of the variables out, or rename its dimension.",

	report.ChunksDiffer: "The array declares one chunk shape along this dimension. Chunks of another shape are cut and encoded again when they are read. Declare another file's chunks to change which ones stay.",
	report.NotOneRange: "Some formats store values without chunks, so varve chooses the chunks. NetCDF-3 stores a record of each variable in turn. If a record is short, a chunk of one record " +
		"would be too small to read fast, so chunks hold several records, and are joined and encoded when they are read. The same holds for a chunk that crosses the end of a file, or of the array. " +
		"With a length of 1 along the dimension of records, in the option chunk-edges, each record is a verbatim chunk.",
	report.FiltersSkipped:   "HDF5 can leave a filter out for single chunks, such as a compression that would make them longer. The array declares filters for all chunks, so these are encoded again.",
	report.EdgesUnfiltered:  "HDF5 can store chunks that extend beyond a dataset without its filters. The array declares filters for all chunks, so these are encoded again.",
	report.ShortChunkPadded: "HDF5 stores the last chunk of a file at full length. The array declares it shorter, so it is encoded again. If the manifest is built, and exported or served, with the option padded, the chunk is verbatim for clients that know the field encoded_chunk_shapes.",
	report.ChunksLarge: "Compressed chunks are decoded from their start, so a read of one element decodes all of its chunk. Access points are places at which decompression can start. " +
		"varve stores them in the manifest; sources and values do not change. Reads of whole chunks do not gain.",
	report.CodecsDiffer:      "A Zarr array declares one codec pipeline. varve declares the one that stores the most bytes. Chunks with other codecs are decoded and encoded again when they are read.",
	report.CodecSettings:     "The codecs have different settings, such as compression levels, which decoding does not depend on. Every chunk stays as it is stored.",
	report.CodecsUnsupported: "No Zarr client knows a codec of the files, so chunks are decoded by varve and encoded with one that clients know.",
	report.CodecsInexact:     "Some chunks have to be encoded, and the stored codec cannot encode them without loss or at all. Another codec is declared for all.",
	report.CodecFromUnusable: "The file whose codecs you chose stores its values in another form than the array declares, or in codecs that not every client knows.",
	report.TypesDiffer:       "The array declares a type that holds the values of all files. Chunks of other types are converted.",
	report.TypesConflict:     "No type holds the values of all files, such as numbers and text.",
	report.TypeImpossible:    "The type that you chose cannot hold the values of the array.",
	report.ValueImpossible:   "Converting the values to the declared type would lose some of them.",
	report.PrecisionLost:     "A 64-bit float holds integers up to 2^53 exactly. Declare an integer type if the values are larger.",
	report.EnumDiffers:       "An enumeration gives a number different names in different files, so the number has no single meaning.",
	report.Repacked: "The option repack packs the values of all files like those of the named scale_factor, so that their chunks stay as they are. The values of the other files are rounded, " +
		"by at most half of the scale_factor. The finding has the largest change, which a build measures by reading these files.",
	report.RepackChanges: "With the packing of the option repack, some values would change by more than rounding explains: the packing has too few bits for them, or they would become its missing value. " +
		"Choose another scale_factor, unpack the values, or accept the change.",
	report.PackingDiffers: "Packed values need the scale_factor and add_offset of their own file. Since one array can declare one packing only, all values are unpacked to floating-point numbers, " +
		"and all chunks are re-encoded.",
	report.PackingInvalid:   "scale_factor, add_offset or _Unsigned is not a number, or has more than one element.",
	report.OffsetSubtracted: "The format, such as HDF4, subtracts add_offset before scaling; CF adds it after. Clients apply the CF rule and get wrong numbers, so decode these variables yourself.",
	report.OffsetConflict:   "varve would have to unpack these values, and add_offset is subtracted, which it does not apply.",
	report.FillDiffers:      "Chunks that were never written read as each file's own fill value. Where that differs from the declared fill value, these chunks are re-encoded.",
	report.MissingDiffers:   "Files mark missing values differently. All values are converted, so that one _FillValue marks them.",
	report.FillChosen:       "The files have no common value for missing data, or none at all. netCDF's default fill value is declared, which no program writes as data.",
	report.FillNeedsType:    "The type has no unused value for missing cells; single bytes never have one. A floating-point type is declared, with NaN for them.",
	report.FillAmbiguous:    "Some cells are in no file. The type has no value that marks them as missing, so they read as an ordinary value.",
	report.FillTime:         "Some cells are in no file, and they have no time. In calendars of models, xarray shows them as the reference time.",
	report.PartsFillDiffers: "The parts of a virtual variable leave some cells out, and files have different fill values for these.",
	report.AttributeDiffers: "An array has one value for an attribute. Where files differ, none of the values is right for all, so the attribute is left out.",
	report.GridMappingDiffers: "The variable says how x and y are on the earth. With another projection, equal coordinates are other places, as in two UTM zones: " +
		"one grid of both would be wrong. Build them apart, or leave the variable out if its numbers are wrong.",
	report.AttributeKept:       "The attribute names other variables or bounds, which clients need. The first file's value is kept.",
	report.AttributeUnreadable: "Zarr stores attributes as JSON, which has no counterpart for this type.",
	report.AttributeInvalid:    "The attribute cannot be written in the declared type.",
	report.AttributeUnusable:   "The attribute describes stored numbers, such as a valid range of packed values. The array holds unpacked numbers, for which it would be wrong.",
	report.MaskUnusable:        "xarray fails on a fill value of this type, so the attribute is left out.",
	report.GroupAttributes:     "Attributes of a group that differ between files, such as a history or a creation date, do not apply to the combined dataset.",
	report.FlagsJoined:         "Files have different flags with no contradiction. The array has all of them.",
	report.UnitsDiffer: "Files give different units for the same variable, so their numbers cannot be one array. The option units has three values. " +
		"The value convert converts numbers to the units of the first file, if there is a linear conversion, and re-encodes their chunks. " +
		"The value first is right if only the attribute is wrong: it declares the units of the first file. The value drop declares no units. " +
		"A text that is no known unit is not refused: the array then declares no units.",
	report.UnitsMissing: "Some files give no units for the variable, and all others give one unit. A missing unit does not contradict it, so the array declares it. " +
		"If the values of these files have another unit, leave the files out.",
	report.UnitsSpelling:     "The files write the same unit in different ways. The first spelling is kept.",
	report.TimeUnitsDiffer:   "Files have different reference times, for example days since the start of each month. All times are converted to one reference, exactly.",
	report.TimeUnitsSpelling: "The files write the same reference time or calendar in different ways.",
	report.TimeZoneUnclear: "A time zone without a sign, or without four digits, is an offset from UTC for UDUNITS, and another time of day or nothing for other programs. " +
		"varve reads it as UDUNITS does, and declares the same reference without a zone. The times keep their numbers.",
	report.CalendarsConverted: "The calendars agree on the dates of the data, as standard and proleptic_gregorian do since 1582. One is declared.",
	report.CalendarsDiffer:    "A date of one calendar need not exist in the other, so the times cannot be converted.",
}
