package tiff

import "fmt"

// The tags that the reader knows.
const (
	newSubfileType   uint16 = 254
	subfileType      uint16 = 255
	imageWidth       uint16 = 256
	imageLength      uint16 = 257
	bitsPerSample    uint16 = 258
	compressionTag   uint16 = 259
	photometricTag   uint16 = 262
	fillOrderTag     uint16 = 266
	documentName     uint16 = 269
	imageDescription uint16 = 270
	makeTag          uint16 = 271
	modelTag         uint16 = 272
	stripOffsets     uint16 = 273
	orientationTag   uint16 = 274
	samplesPerPixel  uint16 = 277
	rowsPerStrip     uint16 = 278
	stripByteCounts  uint16 = 279
	planarTag        uint16 = 284
	pageName         uint16 = 285
	t4Options        uint16 = 292
	softwareTag      uint16 = 305
	dateTime         uint16 = 306
	artistTag        uint16 = 315
	hostComputer     uint16 = 316
	predictorTag     uint16 = 317
	colorMap         uint16 = 320
	tileWidth        uint16 = 322
	tileLength       uint16 = 323
	tileOffsets      uint16 = 324
	tileByteCounts   uint16 = 325
	subIFDs          uint16 = 330
	extraSamples     uint16 = 338
	sampleFormatTag  uint16 = 339
	jpegTables       uint16 = 347
	yCbCrSubSampling uint16 = 530
	imageDepth       uint16 = 32997
	tileDepth        uint16 = 32998
	copyrightTag     uint16 = 33432
	modelPixelScale  uint16 = 33550
	modelTiepoint    uint16 = 33922
	modelTransform   uint16 = 34264
	geoKeyDirectory  uint16 = 34735
	geoDoubleParams  uint16 = 34736
	geoASCIIParams   uint16 = 34737
	gdalMetadata     uint16 = 42112
	gdalNodata       uint16 = 42113
	rpcCoefficients  uint16 = 50844
)

// tagNames are the names of tags in errors.
var tagNames = map[uint16]string{
	newSubfileType: "NewSubfileType", imageWidth: "ImageWidth", imageLength: "ImageLength", bitsPerSample: "BitsPerSample",
	compressionTag: "Compression", photometricTag: "PhotometricInterpretation", fillOrderTag: "FillOrder", imageDescription: "ImageDescription",
	stripOffsets: "StripOffsets", samplesPerPixel: "SamplesPerPixel", rowsPerStrip: "RowsPerStrip", stripByteCounts: "StripByteCounts",
	planarTag: "PlanarConfiguration", t4Options: "T4Options", predictorTag: "Predictor", colorMap: "ColorMap", tileWidth: "TileWidth",
	tileLength: "TileLength", tileOffsets: "TileOffsets", tileByteCounts: "TileByteCounts", subIFDs: "SubIFDs", extraSamples: "ExtraSamples",
	sampleFormatTag: "SampleFormat", jpegTables: "JPEGTables", yCbCrSubSampling: "YCbCrSubSampling", imageDepth: "ImageDepth",
	tileDepth: "TileDepth", modelPixelScale: "ModelPixelScale", modelTiepoint: "ModelTiepoint", modelTransform: "ModelTransformation",
	geoKeyDirectory: "GeoKeyDirectory", geoDoubleParams: "GeoDoubleParams", geoASCIIParams: "GeoAsciiParams", gdalMetadata: "GDAL_METADATA",
	gdalNodata: "GDAL_NODATA",
}

func tagName(tag uint16) string {
	if name, ok := tagNames[tag]; ok {
		return fmt.Sprintf("%s (%d)", name, tag)
	}
	return fmt.Sprint(tag)
}
