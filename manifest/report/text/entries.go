package text

import (
	"fmt"
	"strings"

	"varve/manifest"
	"varve/manifest/report"
)

// entry has the English text of a code.
type entry struct {
	title string               // one line, for the list of codes
	say   func(v *view) string // one sentence about one finding, without the name of the array
}

// entries has the English text of all codes, in the order of package report.
var entries = map[report.Code]entry{
	report.NoVariables: {"files without a selected variable", func(v *view) string {
		return v.files() + " " + v.have() + " no selected variable"
	}},
	report.UnmatchedGlob: {"a glob that matches no variable", func(*view) string { return "no variable matches this glob" }},
	report.ForeignFile: {"files that share no variable with the others", func(v *view) string {
		return fmt.Sprintf("%s %s no variable with the others (%s) and %s %s", v.files(), v.verb("shares", "share"), v.span("others"),
			v.verb("holds", "hold"), v.text("variables"))
	}},
	report.UnreadableFile: {"a file that cannot be read", func(v *view) string {
		if v.has("more") {
			return v.text("more") + " more files cannot be read; the first: " + v.text("reason")
		}
		return "cannot be read: " + v.text("reason")
	}},
	report.RepeatedSource: {"a file that is given more than once", func(v *view) string {
		return count(v.f.Count, "file") + " " + v.verb("is", "are") + " given more than once"
	}},
	report.KnownSource: {"files that the manifest has already", func(v *view) string {
		if v.f.Effect == report.Noted {
			return count(v.f.Count, "file") + " " + v.verb("is", "are") + " in the manifest already and " + v.verb("has", "have") + " not changed: skipped"
		}
		return "already in the manifest"
	}},
	report.Replanned: {"an append that planned all files again", func(v *view) string {
		return "planned " + count(v.f.Count, "file") + " again, because " + replanWords[report.Replan(v.text("reason"))]
	}},
	report.OutputSkipped: {"another output of varve in a folder of sources", func(v *view) string {
		return "skipped " + outputWords[v.text("kind")] + ", because varve wrote it from such files"
	}},
	report.ManifestSkipped: {"a manifest in a folder of sources", func(*view) string { return "skipped a varve manifest, which is not a source" }},
	report.QueryStored: {"stored parameters of URLs", func(v *view) string {
		return "the manifest has parameters of URLs, which may be secrets: " + strings.Join(v.list("parameters"), ", ")
	}},
	report.QueryNotStored: {"parameters of URLs that are not stored", func(v *view) string {
		text := "did not store parameters of URLs, which may be secrets: " + strings.Join(v.list("parameters"), ", ")
		if isProtected, _ := v.f.Args["protected"].(bool); isProtected {
			text += "; later commands need other credentials, such as an access file"
		}
		return text
	}},
	report.QueryNeeded: {"parameters of URLs that select data", func(v *view) string {
		text := "parameters of URLs that are not stored select data: " + strings.Join(v.list("parameters"), ", ")
		if v.has("reason") {
			return text + "; without them the source cannot be read: " + v.text("reason")
		}
		return text + "; without them, different sources have the same name"
	}},
	report.NotSealed: {"a manifest that is not trusted to read its sources", func(v *view) string {
		return "the manifest is not sealed, so reading it needs permission for its sources: " + v.text("reason")
	}},
	report.StrictReencodes: {"chunks that would be re-encoded", func(v *view) string {
		return count(v.number("chunks"), "chunk") + " would be re-encoded"
	}},
	report.SeveralDatasets: {"messages that make several datasets", func(v *view) string {
		groups, _ := v.f.Args["groups"].([]report.GroupDataset)
		words := make([]string, len(groups))
		for i, g := range groups {
			lengths := make([]string, len(g.Dimensions))
			for j, d := range g.Dimensions {
				lengths[j] = d.Name + " " + report.Thousands(d.Length)
			}
			words[i] = fmt.Sprintf("%s has %s (%s)", g.Group, some(g.Arrays), strings.Join(lengths, ", "))
		}
		return fmt.Sprintf("the messages make %s, each in its own group: %s", count(int64(len(groups)), "dataset"), strings.Join(words, "; "))
	}},

	report.LengthsDiffer: {"files of different lengths along a concatenated dimension", func(v *view) string {
		text := fmt.Sprintf("files have %s to %s steps each", v.text("min"), v.text("max"))
		switch chunk := v.number("chunk"); {
		case chunk == 1:
			return text + "; chunks are 1 step long, so nothing changes"
		case chunk > 1:
			return fmt.Sprintf("%s; chunks are %s steps long", text, report.Thousands(chunk))
		}
		return text + "; the chunks of each file keep their lengths"
	}},
	report.EmptyFile: {"files of length 0 along a dimension", func(v *view) string {
		return v.files() + " " + v.have() + " length 0 along it"
	}},
	report.GapBetweenFiles: {"steps that are missing between files", func(v *view) string {
		gaps, _ := v.f.Args["gaps"].([]report.Gap)
		words := make([]string, len(gaps))
		for i, g := range gaps {
			words[i] = fmt.Sprintf("%s to %s (%s, %s)", g.From, g.To, v.f.Files.Label(string(g.Before)), v.f.Files.Label(string(g.After)))
		}
		more := ""
		if v.f.Count > int64(len(gaps)) {
			more = ", …"
		}
		return count(v.f.Count, "gap") + " between files: " + strings.Join(words, ", ") + more
	}},
	report.OrderByName: {"files that are concatenated in the order of their names", func(v *view) string {
		return count(v.f.Count, "file") + " " + v.have() + " no values of it and " + v.verb("is", "are") + " concatenated in the order of their names"
	}},
	report.OrderByLeast: {"files that interleave and are concatenated by their least values", func(v *view) string {
		return v.files() + " interleave with others and are concatenated in the order of their least values"
	}},
	report.Joined: {"coordinates that differ in part and are joined", func(v *view) string {
		if v.text("how") == "inner" {
			return fmt.Sprintf("coordinates of files differ: the result has the %s values that all files have, of up to %s", v.text("length"), v.text("longest"))
		}
		return fmt.Sprintf("coordinates of files differ: the result has the union of %s values, with fill where a file lacks one", v.text("length"))
	}},
	report.NoCommonLabel: {"coordinates without a common value that have to be joined", func(v *view) string {
		return "no value is in all of " + v.files() + ", so their inner join is empty"
	}},
	report.LabelRepeated: {"a coordinate with a value twice that has to be joined", func(v *view) string {
		return v.files() + " " + v.have() + " a value twice, or a missing one, so the coordinates cannot be joined"
	}},
	report.OrderByDomain: {"files that are tiles, placed by their attributes DOMAIN_*", func(v *view) string {
		return count(v.f.Count, "file") + " are tiles along " + v.text("dims") + ", placed by their attributes DOMAIN_*"
	}},
	report.OrderUnknown: {"files whose order is unknown", func(v *view) string {
		return fmt.Sprintf("%s have %s along %s, and no coordinate gives their order", count(v.f.Count, "file"), v.text("variables"), v.dims("dims"))
	}},
	report.PositionUnknown: {"files without the coordinate along which others are concatenated", func(v *view) string {
		return v.files() + " " + v.have() + " no values of it, so their positions are unknown"
	}},
	report.DirectionDiffers: {"coordinates with opposite directions", func(v *view) string {
		return fmt.Sprintf("runs %s in %s and %s in the others", v.text("direction"), v.files(), v.text("others"))
	}},
	report.Flipped: {"files that run the other way and are read backwards", func(v *view) string {
		return fmt.Sprintf("is %s in %s and %s in the result: %s read backwards", v.text("direction"), v.files(), v.text("others"), v.verb("it is", "they are"))
	}},
	report.PartsMoved: {"arrays with parts in other files that would be read in another order", func(v *view) string {
		return fmt.Sprintf("its values are in other files, and cannot be read in another order along %s", v.text("dims"))
	}},
	report.ValuesInterleave: {"files whose coordinate values interleave", func(v *view) string {
		return fmt.Sprintf("values of %s interleave (%s … %s), so no order of these files gives a sorted coordinate", v.files(), v.text("from"), v.text("to"))
	}},
	report.OverlapUnknown: {"coordinates that are too large to search for common values", func(v *view) string {
		return fmt.Sprintf("ranges of %s overlap (%s; %s), and they have too many values to search for common ones", v.files(), v.text("range"), v.text("other"))
	}},
	report.Overlapping: {"files that hold the same positions", func(v *view) string {
		if v.f.Args["counts"] == "equal" {
			return fmt.Sprintf("%s hold some of the same positions along %s, with equal values, which are taken once", count(v.f.Count, "file"), v.text("dims"))
		}
		if v.f.Effect == report.Noted {
			return fmt.Sprintf("%s hold some of the same positions along %s; the %s file is used", count(v.f.Count, "file"), v.text("dims"), v.text("counts"))
		}
		stretches, _ := v.f.Args["shared"].([]report.Stretch)
		words := make([]string, len(stretches))
		for i, s := range stretches {
			words[i] = fmt.Sprintf("%s of %s", report.Thousands(s.Count), s.Dim)
			if s.From != "" {
				words[i] += ", " + s.From
			}
			if s.To != "" {
				words[i] += " … " + s.To
			}
		}
		text := fmt.Sprintf("%s hold the same positions: %s and %s share %s", count(v.f.Count, "file"), v.text("first"), v.text("second"), strings.Join(words, "; "))
		switch v.f.Args["why"] {
		case "differ":
			text += "; their values differ"
		case "large":
			text += "; the files are too large to compare their values"
		}
		return text
	}},
	report.NewDimMissing: {"files without a value for a new dimension", func(v *view) string {
		return v.files() + " " + v.have() + " no value for the new dimension"
	}},
	report.ShortYears: {"years of two digits", func(v *view) string {
		return fmt.Sprintf("years in the names of %s have two digits and are read as 1969 to 2068: %s is %s", v.files(), v.text("digits"), v.text("year"))
	}},
	report.NewDimTaken: {"an array that has a dimension with the name of a new dimension", func(v *view) string {
		return fmt.Sprintf("has the dimension %s already, so the new dimension %s would be a second one with this name", v.text("existing"), v.f.Dim)
	}},
	report.MosaicIncomplete: {"part of an array that no file covers", func(v *view) string {
		text := fmt.Sprintf("no file covers %.0f%% of the array along %s: fill ", 100*v.f.Args["share"].(float64), v.text("dims"))
		if places := v.places(); places != "" {
			return text + "at " + places
		}
		return text + "there"
	}},
	report.MosaicSparse: {"an array that would be mostly fill", func(v *view) string {
		return v.files() + " " + v.have() + " values that no other file has, and more than half of the array would be fill"
	}},
	report.PartsOverlap: {"parts of an array that overlap", func(v *view) string {
		return v.files() + " " + v.have() + " parts in other files that overlap"
	}},
	report.IndexAcrossFiles: {"an array of indices into another array of the same file", func(v *view) string {
		text := "holds indices into " + v.text("target") + " of the same file, "
		if v.text("reason") == "differs" {
			return text + "which differs between files"
		}
		return text + "along which files are concatenated"
	}},
	report.BroadcastUnplaced: {"files without the dimension along which an array is broadcast", func(v *view) string {
		return fmt.Sprintf("%s %s no %s, along which the variable is broadcast", v.files(), v.have(), v.f.Dim)
	}},
	report.BroadcastTooLarge: {"a broadcast array that is too large for the manifest", func(v *view) string {
		return fmt.Sprintf("must be stored in the manifest, and takes more than %s if it is broadcast along %s", v.text("limit"), v.text("dims"))
	}},
	report.StepWithoutDim: {"files that are one step along a dimension that they lack", func(v *view) string {
		if v.has("along") {
			return fmt.Sprintf("%s %s the dimensions %s of %s, and the same values at all positions along %s", v.files(), v.have(), v.dims("own"), v.dims("dims"), v.dims("along"))
		}
		return fmt.Sprintf("%s %s the dimensions %s and %s one step of %s", v.files(), v.have(), v.dims("own"), v.verb("is", "are"), v.dims("dims"))
	}},

	report.CoordinateDiffers: {"coordinates that should be equal and differ", func(v *view) string {
		head := v.files() + " " + v.have() + " other values"
		switch {
		case v.f.Effect == report.Noted:
			if v.has("difference") {
				head += ", up to " + v.text("difference") + " away"
			}
			if v.has("step") {
				head += " (the smallest step is " + v.text("step") + ")"
			}
			return head + "; the values of " + v.text("standard") + " are used"
		case v.has("range"):
			return fmt.Sprintf("%s: %s; the others: %s", head, v.text("range"), v.text("other"))
		}
		return fmt.Sprintf("%s: %s has %s at index %s, %s has %s", head, v.text("example"), v.text("value"), v.text("index"), v.text("standard"), v.text("other"))
	}},
	report.CoordinatePermuted: {"coordinates with the same values in another order", func(v *view) string {
		return v.files() + " " + v.have() + " the same values in another order"
	}},
	report.LongitudesMoved: {"longitudes that are brought to another range", func(v *view) string {
		text := fmt.Sprintf("longitudes of %s are brought to %s", v.files(), v.f.By.Value)
		if v.f.Args["in_two"] == true {
			text += "; files that wrap there are read in two parts"
		}
		if names := v.text("left_out"); names != "" {
			text += "; left out: " + names
		}
		return text
	}},
	report.LongitudesFixed: {"longitudes that cannot be brought to another range", func(v *view) string {
		return fmt.Sprintf("longitudes of %s cannot be brought to %s: %s", v.files(), v.text("range"), v.text("reason"))
	}},
	report.CoordinateNear: {"coordinates that differ within the tolerance", func(v *view) string {
		return fmt.Sprintf("%s %s values that differ by at most %s; the values of %s are used", v.files(), v.have(), v.text("tolerance"), v.span("standard"))
	}},
	report.CoordinateKind: {"a coordinate of times in some files and of numbers or text in others", func(v *view) string {
		return fmt.Sprintf("%s %s %s, the others %s", v.files(), v.have(), v.text("kind"), v.text("others"))
	}},
	report.CoordinateUnits: {"units of a coordinate that differ", func(v *view) string {
		text := "units are " + quoted(v.text("units")) + " in " + v.in()
		if v.text("units") == "" {
			text = "units are missing in " + v.in()
		}
		if n := v.number("variants"); n > 1 {
			text = fmt.Sprintf("units of %s differ (%s in %s, %d variants)", v.in(), quoted(v.text("units")), v.text("example"), n)
		}
		if v.has("invalid") {
			text += " (" + v.text("invalid") + ")"
		}
		if v.text("others") == "" {
			return text + " and missing in " + v.others()
		}
		return text + " and " + quoted(v.text("others")) + " in " + v.others()
	}},
	report.CoordinateCalendar: {"calendars of a coordinate that differ", func(v *view) string {
		return fmt.Sprintf("the calendar is %s in %s and %s in %s", v.text("calendar"), v.in(), v.text("others"), v.others())
	}},
	report.WidthsDiffer: {"different lengths along a dimension that is not concatenated", func(v *view) string {
		text := fmt.Sprintf("is %s long in %s and %s in %s (%s)", v.text("lengths"), v.in(), v.text("usual"), v.others(), v.span("usual_files"))
		switch v.text("values") {
		case "elsewhere":
			text += "; the shorter files have values of the longest at other positions"
		case "beyond":
			text += "; some files have only values outside the range of the longest file"
		case "differ":
			text += "; the shorter files begin with other values"
		}
		return text
	}},
	report.TextsPadded: {"shorter texts that are padded with NUL", func(v *view) string {
		return fmt.Sprintf("%s %s texts of fewer than %s characters: NUL after them", v.files(), v.have(), v.text("length"))
	}},
	report.WidthsPadded: {"shorter files that are followed by fill", func(v *view) string {
		return fmt.Sprintf("%s %s fewer than %s elements: fill after them", v.files(), v.have(), v.text("length"))
	}},
	report.StaticDiffers: {"a variable without the concatenated dimension that differs", func(v *view) string {
		switch {
		case v.f.Effect == report.Noted:
			return fmt.Sprintf("%s %s other values; the values of %s are used", v.files(), v.have(), v.span("standard"))
		case v.has("odd"):
			where := "they have no dimension along which files are concatenated"
			if v.has("same_place") {
				where = "these files are at the same position as others"
			}
			return fmt.Sprintf("values differ in %s: %s; %s", v.files(), v.oddFiles(), where)
		case v.has("same_place"):
			return fmt.Sprintf("%s at the same position %s other values than the others (%s)", v.files(), v.have(), v.span("others"))
		}
		return fmt.Sprintf("%s %s other values than the others (%s), and it has no dimension along which files are concatenated", v.files(), v.have(), v.span("others"))
	}},
	report.TooLargeToCompare: {"a variable that should be equal and is too large to compare", func(v *view) string {
		if v.has("longest") {
			return fmt.Sprintf("shorter files must begin with the values of the longest, %s, and at most %s are compared", v.text("longest"), v.text("limit"))
		}
		return fmt.Sprintf("files must hold equal values, and some hold %s: at most %s are compared", v.text("size"), v.text("limit"))
	}},
	report.BoundsTooLarge: {"time bounds that are too large to convert", func(v *view) string {
		return "time bounds with different reference days take more than " + v.text("limit") + ", so they cannot be converted"
	}},

	report.VariableAbsent: {"a variable that some files lack", func(v *view) string {
		text := v.files() + " " + v.verb("lacks ", "lack ") + v.text("variables")
		if v.f.Effect == report.Filled {
			text += ": fill there"
		}
		return text
	}},
	report.VariableUnreadable: {"a variable that no array can hold", func(v *view) string { return "left out: " + v.text("reason") }},
	report.VariableDamaged:    {"a variable of a damaged file", func(v *view) string { return "is damaged: " + v.text("reason") }},
	report.VariableElsewhere:  {"a variable whose data are in a folder that is not allowed", func(v *view) string { return v.text("reason") }},
	report.VariableIsGroup: {"a variable with the path of a group", func(*view) string {
		return "is a variable in some files and a group in others: Zarr allows one of them"
	}},
	report.NeverWritten: {"a variable that files declare but never wrote", func(v *view) string {
		return "never written in " + v.files() + ": fill there"
	}},
	report.DimsTransposed: {"dimensions in another order", func(v *view) string {
		return fmt.Sprintf("%s %s the dimensions in the order %s and %s transposed to %s", v.files(), v.have(), v.dims("dims"), v.verb("is", "are"), v.dims("declared"))
	}},
	report.DimsDiffer: {"other dimensions", func(v *view) string {
		return fmt.Sprintf("%s %s the dimensions %s, the others (%s) %s", v.files(), v.have(), v.dims("dims"), v.span("others"), v.dims("declared"))
	}},
	report.DimTwice: {"a concatenated dimension on two axes", func(v *view) string {
		return "has " + v.f.Dim + ", along which files are concatenated, on two axes"
	}},
	report.DimGuessed: {"a dimension that no file names", func(v *view) string {
		text := fmt.Sprintf("no file names the dimension of axis %s: it is as long as ", v.text("axis"))
		switch v.text("basis") {
		case "any":
			return fmt.Sprintf("%s in every file, so it may be any of them; it is called %s", text+v.text("candidates"), v.text("name"))
		case "some":
			return fmt.Sprintf("%s in some files only; it is called %s", text+v.text("candidates"), v.text("name"))
		case "first":
			return fmt.Sprintf("%s and another dimension; it is taken to be %s, as netCDF does", text+v.text("name"), v.text("name"))
		}
		return fmt.Sprintf("%s and no other; it is taken to be %s, along which files are concatenated", text+v.text("name"), v.text("name"))
	}},
	report.DimAmbiguous: {"a dimension that no file names and that could be the concatenated one", func(v *view) string {
		return fmt.Sprintf("no file names the dimension of axis %s: it is as long as %s, along which files are concatenated, and as another dimension", v.text("axis"), v.text("name"))
	}},
	report.DimByPosition: {"files without names for dimensions that other files name", func(v *view) string {
		return fmt.Sprintf("%s %s no name for %s, which other files name: taken by position", v.files(), v.have(), v.text("names"))
	}},
	report.DimPositionDiffers: {"axes that share a name by position and differ in length", func(v *view) string {
		lengths, _ := v.f.Args["lengths"].([]report.AxisLength)
		words := make([]string, len(lengths))
		for i, l := range lengths {
			words[i] = fmt.Sprintf("%s in %s", report.Thousands(l.Length), some(l.Arrays))
		}
		return fmt.Sprintf("%s %s no name for axes that are %s by their position in other files, and their lengths differ: %s",
			v.files(), v.have(), v.f.Dim, strings.Join(words, ", "))
	}},

	report.ChunksDiffer: {"chunk shapes that differ", func(v *view) string {
		return fmt.Sprintf("%s %s chunked %s; the array declares %s, so these chunks are re-encoded when they are read", v.in(), v.verb("is", "are"), v.text("shapes"), v.text("declared"))
	}},
	report.NotOneRange: {"chunks that are not one range of bytes", func(v *view) string {
		if v.f.Dim != "" {
			return fmt.Sprintf("%s %s other variables between the records of %s; the array declares chunks of %s, which are joined from records when they are read", v.files(), v.verb("stores", "store"), v.f.Dim, v.text("declared"))
		}
		return fmt.Sprintf("%s %s values without chunks; the array declares chunks of %s, of which some are not one range of bytes, and are re-encoded when they are read", v.files(), v.verb("stores", "store"), v.text("declared"))
	}},
	report.FiltersSkipped: {"chunks to which a filter was not applied", func(v *view) string {
		return fmt.Sprintf("%s %s chunks to which a filter was not applied", v.files(), v.have())
	}},
	report.EdgesUnfiltered: {"chunks without filters at the end of a dimension", func(v *view) string {
		return fmt.Sprintf("%s %s chunks without filters at the end of a dimension", v.files(), v.have())
	}},
	report.ShortChunkPadded: {"a short chunk that is stored at full length", func(v *view) string {
		return fmt.Sprintf("%s %s in a short chunk that is stored at full length, but declared shorter", v.files(), v.verb("ends", "end"))
	}},
	report.ChunksLarge: {"large chunks without access points", func(v *view) string {
		return fmt.Sprintf("one element decodes a chunk of %s; with access points it decodes about %s", report.Size(v.number("chunk")), report.Size(v.number("part")))
	}},
	report.CodecsDiffer:  {"codecs that differ", func(v *view) string { return v.differs("codecs") }},
	report.CodecSettings: {"settings of codecs that do not change decoding", func(v *view) string { return v.differs("codec settings") + "; decoding does not depend on them" }},
	report.CodecsUnsupported: {"codecs that no Zarr client decodes", func(v *view) string {
		return fmt.Sprintf("stored with %s, which Zarr clients do not decode: declared as %s", v.text("stored"), v.text("declared"))
	}},
	report.CodecsInexact: {"codecs that cannot encode every value", func(v *view) string {
		return fmt.Sprintf("stored with %s, which cannot encode every value that has to be re-encoded: declared as %s", v.text("stored"), v.text("declared"))
	}},
	report.CodecFromUnusable: {"chosen codecs that cannot be declared", func(v *view) string {
		return fmt.Sprintf("the codecs of %s cannot be declared: its values are not stored as the array declares them, or not every client decodes them", v.text("file"))
	}},
	report.TypesDiffer:     {"data types that differ", func(v *view) string { return v.differs("data type") + "; declared as " + v.text("type") }},
	report.TypesConflict:   {"data types that no type can hold together", func(v *view) string { return v.differs("data type") + ": " + v.text("reason") }},
	report.TypeImpossible:  {"a data type that cannot hold the values", func(v *view) string { return v.text("reason") }},
	report.ValueImpossible: {"values that cannot be converted", func(v *view) string { return v.text("reason") }},
	report.PrecisionLost: {"a data type that rounds large integers", func(v *view) string {
		return "declared as " + v.text("type") + ", which rounds integers beyond 2^53"
	}},
	report.EnumDiffers:    {"a number of an enumeration with other names", func(v *view) string { return v.differs("the name of " + v.text("number")) }},
	report.PackingDiffers: {"packing that differs", func(v *view) string { return v.differs(v.text("name")) }},
	report.Repacked: {"values that are packed like most files", func(v *view) string {
		return fmt.Sprintf("values of %s are packed with the scale_factor %s, and change by at most %s", v.files(), v.text("scale"), v.text("largest"))
	}},
	report.RepackChanges: {"values that another packing would change too much", func(v *view) string {
		if v.f.Args["largest"] == nil {
			return fmt.Sprintf("%s %s too many values to measure how much another packing changes them", v.files(), v.have())
		}
		return fmt.Sprintf("values of %s would change by up to %s, more than half of the scale_factor %s: they are outside of the range of the packing, or equal its missing value", v.files(), v.text("largest"), v.text("scale"))
	}},
	report.PackingInvalid: {"invalid packing attributes", func(v *view) string { return v.text("reason") }},
	report.OffsetSubtracted: {"an add_offset that is subtracted", func(v *view) string {
		return fmt.Sprintf("%s %s an add_offset that is subtracted: values are scale_factor * (stored - add_offset), and CF clients compute something else; open with mask_and_scale=False", v.files(), v.have())
	}},
	report.OffsetConflict: {"a subtracted add_offset that varve would have to apply", func(v *view) string {
		return fmt.Sprintf("%s %s an add_offset that is subtracted, scale_factor * (stored - add_offset), which varve does not apply and would have to: packings differ, or no file covers some cells", v.files(), v.have())
	}},
	report.FillDiffers:    {"fill values that differ", func(v *view) string { return v.differs("fill value") + ", where nothing was written" }},
	report.MissingDiffers: {"missing values that differ", func(v *view) string { return v.differs("missing value") }},
	report.FillChosen: {"a missing value that no file has", func(v *view) string {
		if v.has("masked") {
			return fmt.Sprintf("values that files mark as missing are declared as _FillValue %s, netCDF's default", v.text("value"))
		}
		return fmt.Sprintf("no file covers some cells: _FillValue %s, netCDF's default, marks them", v.text("value"))
	}},
	report.FillNeedsType: {"a type without a value for missing cells", func(v *view) string {
		return fmt.Sprintf("no file covers some cells, and %s has no value to mark them: declared as %s", v.text("type"), v.text("declared"))
	}},
	report.FillAmbiguous: {"missing cells that read as a number", func(v *view) string {
		return fmt.Sprintf("no file covers some cells, and they read as %s, since %s has no value to mark them", v.text("value"), v.text("type"))
	}},
	report.FillTime: {"missing cells that have no time", func(v *view) string {
		return fmt.Sprintf("no file covers some cells; they are NaN, which xarray shows as %s, since cftime has no missing times", v.text("time"))
	}},
	report.PartsFillDiffers: {"fill values between parts that differ", func(v *view) string {
		return v.files() + " " + v.have() + " another fill value between parts than the first"
	}},

	report.AttributeDiffers: {"an attribute that differs and is left out", func(v *view) string { return v.differs("attribute "+v.text("name")) + "; it is left out" }},
	report.GridMappingDiffers: {"map projections that differ", func(v *view) string {
		return v.differs(v.text("name")+" of the map projection") + "; their coordinates are of different places"
	}},
	report.AttributeKept: {"an attribute that differs and is kept", func(v *view) string {
		return v.differs("attribute "+v.text("name")) + ": the first file's value is kept"
	}},
	report.AttributeUnreadable: {"an attribute that JSON cannot hold", func(v *view) string {
		if v.has("group") {
			return fmt.Sprintf("attribute %s of the group %s is left out: %s", v.text("name"), v.text("group"), v.text("reason"))
		}
		return fmt.Sprintf("attribute %s is left out: %s", v.text("name"), v.text("reason"))
	}},
	report.AttributeInvalid: {"an attribute that cannot be written", func(v *view) string { return v.text("reason") }},
	report.AttributeUnusable: {"attributes that describe stored numbers", func(v *view) string {
		holds := "unpacked numbers"
		if v.f.Args["repacked"] != nil {
			holds = "numbers that are packed again"
		}
		if len(v.list("names")) == 1 {
			return v.text("names") + " is left out: it describes stored numbers, and the array holds " + holds
		}
		return v.text("names") + " are left out: they describe stored numbers, and the array holds " + holds
	}},
	report.MaskUnusable: {"a missing value that xarray cannot use", func(v *view) string {
		if len(v.list("names")) == 1 {
			return v.text("names") + " is left out: xarray cannot use missing values of type " + v.text("type")
		}
		return v.text("names") + " are left out: xarray cannot use missing values of type " + v.text("type")
	}},
	report.GroupAttributes: {"attributes of a group that differ", func(v *view) string {
		return fmt.Sprintf("attributes of the group %s differ between files and are left out: %s", v.text("group"), v.text("names"))
	}},
	report.FlagsJoined: {"flags of files that are joined", func(v *view) string { return v.differs(v.text("name")) + ": joined" }},
	report.UnitsDiffer: {"units of a variable that differ", func(v *view) string {
		if v.text("choice") == "published" {
			return fmt.Sprintf("the units %q are published, and would become %q", v.text("main"), v.text("units"))
		}
		if v.text("choice") == "kept" {
			return fmt.Sprintf("units are %q in all files: converted to %q, which are published", v.text("units"), v.text("main"))
		}
		return v.differs("units") + map[string]string{"": "", "convert": ": converted", "first": "; all numbers are kept as they are", "drop": "; the array declares no units"}[v.text("choice")] +
			map[string]string{"": "", "bounds": "; bounds would not be converted, so neither are these numbers", "difference": "; not converted, because they may be differences of temperatures"}[v.text("obstacle")]
	}},
	report.UnitsMissing: {"units that some files do not state", func(v *view) string {
		return v.differs("units") + ": kept"
	}},
	report.UnitsSpelling:     {"one unit in several spellings", func(v *view) string { return v.differs("units") + ": the same unit" }},
	report.TimeUnitsDiffer:   {"time units that are converted", func(v *view) string { return v.differs("time units") + ": converted to " + v.text("reference") }},
	report.TimeUnitsSpelling: {"one reference time in several spellings", func(v *view) string { return v.differs(v.text("name")) + ": the same" }},
	report.TimeZoneUnclear: {"a time zone that programs read in different ways", func(v *view) string {
		return fmt.Sprintf("programs read the time zone of the units %q in different ways: written as %q", v.text("units"), v.text("reference"))
	}},
	report.CalendarsConverted: {"calendars that are converted", func(v *view) string {
		return v.differs("calendar") + ": converted to the " + v.text("calendar") + " calendar"
	}},
	report.CalendarsDiffer: {"calendars that cannot be converted", func(v *view) string { return v.differs("calendar") + ": a day of one may not exist in the other" }},
}

// consequences has the English text for the consequence of each remedy.
var consequences = map[report.Consequence]string{
	report.ByName:        "concatenates them in the order of their names",
	report.ByNameValues:  "takes values from their names",
	report.ByLeastValue:  "concatenates them in the order of their least values; the coordinate is then not sorted",
	report.StackByValue:  "stacks the files by its value",
	report.IfOneStep:     "if each of these files is one step",
	report.IfEnsemble:    "if the files are members of an ensemble",
	report.IfStretches:   "if each file holds a contiguous part of it",
	report.IfNear:        "if the values differ by rounding only",
	report.IfSameDims:    "if these are the same dimensions",
	report.SameAlong:     "repeats the values of these files along it",
	report.EachAlong:     "keeps the values of each file",
	report.CompareValues: "compares the values one by one",
	report.LongestCounts: "takes the values of the longest file",
	report.ConvertsUnits: "converts to the units of the first file, and re-encodes",
	report.KeepsNumbers:  "keeps all numbers, and declares the units of the first file",
	report.NoUnits:       "keeps all numbers, and declares no units",
	report.KeepsApart:    "keeps their variables as arrays of their own",
	report.FirstCounts:   "takes the values of the first file",
	report.LastCounts:    "takes the values of the last file",
	report.FillLacking:   "takes all values, and adds fill where a file lacks one",
	report.FillBeyond:    "adds fill after shorter files",
	report.FillAbsent:    "puts fill where it is absent",
	report.LeavesOut:     "leaves it out",
	report.OneGroup:      "builds only one of them",
	report.NamesDim:      "gives it a name",
	report.OrderByTime:   "puts the files in the order of their times",
	report.MakesRoom:     "gives the other one another name",
	report.OthersDecide:  "declares the chunks of another file",
	report.RoundsToScale: "rounds the values of the other files to this scale_factor, and keeps most chunks",
	report.HalfTheBytes:  "rounds values to half the bytes",
	report.LosesRange:    "takes the nearest value that the packing has",
	report.ExactType:     "declares a type that holds every value",
	report.WithoutDamage: "leaves out the damaged variables",
	report.SkipsFiles:    "leaves these files out",
	report.StoresQuery:   "stores this parameter, so readers of the manifest see its values",
	report.ReadsChanged:  "reads the files again that have changed",
	report.SkipsOthers:   "leaves out files with other names",
	report.SkipsSame:     "skips files that have not changed",
	report.OpensFolder:   "allows files to refer to it",
	report.ReadsParts:    "reads every chunk once, and later reads decode only parts",
	report.Stacks:        "stacks the files along a new dimension",
	report.SameMeridians: "gives the same meridians the same values",
	report.ReadsReversed: "reads files that run the other way backwards, and re-encodes their chunks",
	report.PaddedClients: "makes these chunks verbatim for clients that know encoded_chunk_shapes",
}

// Title returns the line for a code in a list of codes, or false if there is no such code.
func Title(code report.Code) (string, bool) {
	e, ok := entries[code]
	return e.title, ok
}

// Codes returns all codes, sorted.
func Codes() []report.Code { return sortedKeys(entries) }

// outputWords names the kinds of outputs.
var outputWords = map[string]string{
	"zarr": "a Zarr copy", "kerchunk": "kerchunk references", "icechunk": "an Icechunk repository", "table": "a table", "scans": "kept scans",
}

// Reason returns the English of a reason for which a chunk is re-encoded.
func Reason(r manifest.Reason) string {
	switch r {
	case manifest.SeveralFiles:
		return "several files have elements of the chunk"
	case manifest.PartlyFill:
		return "no file has some of the elements"
	case manifest.OtherChunks:
		return "the stored chunks begin or end elsewhere"
	case manifest.Padded:
		return "the stored chunk is longer, because it is padded"
	case manifest.Converted:
		return "the elements have another type, packing, missing value or units"
	case manifest.OtherOrder:
		return "the dimensions are stored in another order"
	case manifest.OtherCodecs:
		return "the stored bytes have other codecs"
	case manifest.OtherFill:
		return "elements were never written, and read as another fill value"
	}
	return string(r)
}
