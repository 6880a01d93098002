package formats

import (
	"bytes"
	"context"
	"fmt"

	"varve/readers/source"
)

// foreignFormat is a format that people use and varve does not read.
type foreignFormat struct {
	at          int // offset of mark in the file
	mark        string
	description string
	fix         remedy
}

// remedy says what a user can do with a file that varve does not read.
type remedy string

const (
	convert    remedy = "convert it to netCDF or Zarr"
	decompress remedy = "decompress it, because parts of a file that it compressed cannot be read"
	stepGzip   remedy = "add |gzip: to its name, or let the name end with .gz"
	stepZstd   remedy = "add |zstd: to its name, or let the name end with .zst"
	unpack     remedy = "let its name end with .zip, so that its members are read, or unpack it; a Zarr store in a folder of it must be unpacked"
	stepTar    remedy = "let its name end with .tar, so that its members are read"
	findIt     remedy = "use the original file"
	nameData   remedy = "name the GRIB file that it describes; varve reads the index file beside it"
	fetchIt    remedy = "fetch the file itself (git lfs pull)"
	nameDMRPP  remedy = "name the file itself, or its .dmrpp"
	nameThem   remedy = "name those files instead"
	saveAgain  remedy = "save it with -v7.3, which makes it HDF5"
)

var foreignFormats = []foreignFormat{
	{0, "BUFR", "a BUFR file", convert},
	{0, "1:0:d=", "an index file of GRIB (wgrib2)", nameData},
	{0, `{"domain":`, "an index file of GRIB (ECMWF)", nameData},
	{0, "\xcd\xf3\x00\x01", "a CDF file of NASA, which is not netCDF", convert},
	{0, "\xcd\xf2\x60\x02", "a CDF file of NASA, which is not netCDF", convert},
	{0, "AR2V", "a NEXRAD level II file", convert},
	{0, "SIMPLE  =                    F", "a FITS file that does not follow the standard (SIMPLE = F)", convert},
	{0, "SIMPLE  =", "a FITS header with line breaks, which was saved as text", findIt},
	{0, "PAR1", "a Parquet file, not a folder of kerchunk references", convert},
	{0, "MATLAB 5.0", "a MATLAB file of a version before 7.3", saveAgain},
	{0, "\x1f\x8b", "a file compressed by gzip", stepGzip},
	{0, "\x1f\x9d", "a file compressed by compress", decompress},
	{0, "BZh", "a file compressed by bzip2", decompress},
	{0, "\xfd7zXZ\x00", "a file compressed by xz", decompress},
	{0, "\x28\xb5\x2f\xfd", "a file compressed by zstd", stepZstd},
	{0, "PK\x03\x04", "a zip file without a Zarr store at its root", unpack},
	{257, "ustar", "a tar file", stepTar},
	{0, "version https://git-lfs", "a pointer of Git LFS instead of the file", fetchIt},
}

// xmlFormats lists XML documents that describe other files, by a mark in their first tag.
var xmlFormats = []foreignFormat{
	{mark: "http://xml.opendap.org/ns/DAP/", description: "metadata of an OPeNDAP server (DMR, DDX), which do not contain the positions of values", fix: nameDMRPP},
	{mark: "http://www.unidata.ucar.edu/namespaces/netcdf/ncml", description: "NcML, which describes other files", fix: nameThem},
	{mark: "<Xdmf", description: "XDMF, which describes other files", fix: nameThem},
	{mark: "<VTKFile", description: "a VTK file", fix: convert},
}

// n5Document is the metadata document in the folders of an N5 store. One of n5Marks is in the
// document of the store itself, or of an array.
const (
	n5Document  = "attributes.json"
	maxDocument = 1 << 20
)

var n5Marks = []string{`"n5"`, `"blockSize"`}

const headBytes = 512

// recognize returns the format and a remedy for a file that starts with head, or nil if it is
// unknown.
func recognize(head []byte) error {
	for _, o := range foreignFormats {
		// Marks of compressed files and archives are at fixed offsets.
		if len(head) >= o.at && bytes.HasPrefix(head[o.at:], []byte(o.mark)) {
			return fmt.Errorf("it is %s: %s", o.description, o.fix)
		}
	}
	for _, o := range xmlFormats {
		if looksLikeXML(head) && bytes.Contains(head, []byte(o.mark)) {
			return fmt.Errorf("it is %s: %s", o.description, o.fix)
		}
	}
	return nil
}

// recognizeFolder returns the format and a remedy for a folder of a store that varve does not read,
// or nil if it is unknown.
func recognizeFolder(ctx context.Context, folder *source.Source) error {
	document, err := folder.ReadMember(ctx, n5Document, maxDocument)
	if err != nil {
		return nil // not a store that can be recognized
	}
	for _, mark := range n5Marks {
		if bytes.Contains(document, []byte(mark)) {
			return fmt.Errorf("it is an N5 store: %s", convert)
		}
	}
	return nil
}
