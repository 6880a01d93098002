package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"varve/codec"
	"varve/manifest/export/zarr"
	"varve/manifest/plan"
	"varve/readers"
	"varve/readers/formats"
)

// The words that flags accept, and what they mean. An empty word is the default of a flag that has none.
var (
	missings = map[string]plan.Absent{"fill": plan.AbsentFill, "drop": plan.AbsentDrop, "refuse": plan.AbsentRefuse}
	pads     = map[string]plan.Pad{"": plan.PadRefuse, "fill": plan.PadFill}
	coords   = map[string]plan.Coords{"": plan.CoordsEqual, "first": plan.CoordsFirst}
	units    = map[string]plan.Units{"": plan.UnitsRefuse, "convert": plan.UnitsConvert, "first": plan.UnitsFirst, "drop": plan.UnitsDrop}
	codecs   = map[string]codec.Compressor{
		"": "", "keep": "", "zstd": codec.ZstdCompressor, "gzip": codec.GzipCompressor, "blosc": codec.BloscCompressor, "none": codec.NoCompressor,
	}
	layouts    = map[string]zarr.Layout{"timeseries": zarr.SeriesLayout, "map": zarr.MapLayout, "cube": zarr.CubeLayout}
	overlaps   = map[string]plan.Overlap{"": plan.OverlapRefuse, "first": plan.OverlapFirst, "last": plan.OverlapLast}
	longitudes = map[string]plan.Longitudes{"": plan.AnyLongitudes, "0..360": plan.From0To360, "-180..180": plan.Around0}
)

// wordsOfFlags returns the words that a flag accepts, by the name of the flag.
func wordsOfFlags() map[string][]string {
	all := map[string][]string{
		"missing":     words(missings),
		"pad":         words(pads),
		"coords":      words(coords),
		"overlap":     words(overlaps),
		"units":       words(units),
		"codec":       words(codecs),
		"log-format":  {"text", "json"},
		"format":      {"3", "2"},
		"follow":      {"append", "always"},
		"conventions": {"all", "gdal", "multiscales", "proj", "spatial"},
	}
	for _, o := range formats.Options() {
		if o.Kind == readers.OptionWord {
			all[o.Name] = o.Words
		}
	}
	return all
}

// words returns the words of a flag in alphabetic order.
func words[T any](meanings map[string]T) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(meanings)), func(w string) bool { return w == "" })
}

// choose sets the meaning of a word.
func choose[T any](to *T, flag, word string, meanings map[string]T) error {
	choice, ok := meanings[word]
	if !ok {
		return fmt.Errorf("--%s %s: want %s", flag, word, strings.Join(words(meanings), " or "))
	}
	*to = choice
	return nil
}
