package zarrjson_test

import (
	"fmt"
	"log"

	"varve/codec"
	"varve/grid"
	"varve/zarrjson"
)

// The chunks of a year of daily steps are its months, in a rectilinear grid.
func ExampleArray_Encode() {
	float32s, err := zarrjson.DataTypeOf(codec.Type{Kind: codec.Float, Size: 4})
	if err != nil {
		log.Fatal(err)
	}
	a := &zarrjson.Array{
		Shape:          []int64{90, 720},
		DataType:       float32s,
		ChunkGrid:      zarrjson.RectilinearGrid(grid.List(31, 28, 31), grid.List(360, 360)),
		Codecs:         []codec.Spec{{Name: "bytes", Config: []byte(`{"endian":"little"}`)}, {Name: "numcodecs.zlib", Config: []byte(`{"level":4}`)}},
		DimensionNames: zarrjson.Names("time", "lon"),
	}
	if err := a.Attributes.Set("units", []byte(`"K"`)); err != nil {
		log.Fatal(err)
	}
	doc, err := a.Encode(zarrjson.Compact)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", doc)
	// Output:
	// {"shape":[90,720],"data_type":"float32","chunk_grid":{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[31,28,31],[[360,2]]]}},"chunk_key_encoding":{"name":"default","configuration":{"separator":"/"}},"fill_value":0.0,"codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"numcodecs.zlib","configuration":{"level":4}}],"attributes":{"units":"K"},"dimension_names":["time","lon"],"zarr_format":3,"node_type":"array","storage_transformers":[]}
}

func ExampleParseArray() {
	a, err := zarrjson.ParseArray([]byte(`{
	  "zarr_format": 3, "node_type": "array",
	  "shape": [25], "data_type": "int16", "fill_value": -999,
	  "chunk_grid": {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [[[10, 2], 5]]}},
	  "chunk_key_encoding": {"name": "default"},
	  "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]
	}`))
	if err != nil {
		log.Fatal(err)
	}
	g, err := a.Grid()
	if err != nil {
		log.Fatal(err)
	}
	chunk, _ := g.Chunk([]int64{2})
	fmt.Println(a.DataType.Type(), g.Chunks(), chunk.Region, string(a.Keys.Append(nil, []int64{2})))
	// Output: int16 3 [20:25] c/2
}

// An error names the field, its value and the allowed values.
func ExampleParseArray_refused() {
	_, err := zarrjson.ParseArray([]byte(`{
	  "zarr_format": 3, "node_type": "array",
	  "shape": [25], "data_type": "int16", "fill_value": -999,
	  "chunk_grid": {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [[[10, 2], 0]]}},
	  "chunk_key_encoding": {"name": "default"},
	  "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]
	}`))
	fmt.Println(err)
	// Output: chunk_grid.configuration.chunk_shapes[0][1]: 0 is not a size, or [size, count], of integers from 1 to 9223372036854775807
}

func ExampleAttributes() {
	a, err := zarrjson.ParseAttributes([]byte(`{"units": "K", "scale": 1.50e0, "valid": [NaN, 300]}`))
	if err != nil {
		log.Fatal(err)
	}
	if err := a.Set("units", []byte(`"degC"`)); err != nil {
		log.Fatal(err)
	}
	a.Delete("valid")
	fmt.Printf("%s\n", a.JSON())
	// Output: {"units": "degC", "scale": 1.50e0}
}

func ExampleV2Array_ToV3() {
	v2, err := zarrjson.ParseV2Array([]byte(`{
	  "zarr_format": 2, "shape": [4, 6], "chunks": [2, 6], "dtype": ">i2", "fill_value": -1,
	  "order": "F", "filters": null, "compressor": {"id": "zlib", "level": 1}
	}`))
	if err != nil {
		log.Fatal(err)
	}
	names, err := zarrjson.ParseAttributes([]byte(`{"_ARRAY_DIMENSIONS": ["y", "x"]}`))
	if err != nil {
		log.Fatal(err)
	}
	a, err := v2.ToV3(names, zarrjson.MaskFill)
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range a.Codecs {
		fmt.Println(c.Name, string(c.Config))
	}
	fmt.Println(a.DimensionNames, string(a.Attributes.JSON()))
	// Output:
	// transpose {"order":[1,0]}
	// bytes {"endian":"big"}
	// numcodecs.zlib {"level":1}
	// [{y true} {x true}] {"_FillValue":-1}
}
