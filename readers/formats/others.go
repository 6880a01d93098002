package formats

import (
	"bytes"
	"context"
	"fmt"

	"varve/readers/source"
)

// other is a format that varve does not read and people have.
type other struct {
	at   int // of its mark in the file
	mark string
	what string
	to   do
}

// do is what to do about a file.
type do string

const (
	convert    do = "convert it to netCDF or Zarr"
	decompress do = "decompress it: what is compressed as a whole cannot be read in part"
	unpack     do = "unpack it"
	findIt     do = "find the file as it was"
	fetchIt    do = "fetch the file itself (git lfs pull)"
	nameDMRPP  do = "name the file itself, or its .dmrpp"
	nameThem   do = "name these"
	saveAgain  do = "save it with -v7.3, which makes it HDF5"
)

var others = []other{
	{0, "GRIB", "a GRIB file", convert},
	{0, "BUFR", "a BUFR file", convert},
	{0, "\xcd\xf3\x00\x01", "a CDF file of NASA's, which is not netCDF", convert},
	{0, "\xcd\xf2\x60\x02", "a CDF file of NASA's, which is not netCDF", convert},
	{0, "AR2V", "a NEXRAD level II file", convert},
	{0, "II*\x00", "a TIFF file", convert},
	{0, "MM\x00*", "a TIFF file", convert},
	{0, "II+\x00", "a TIFF file", convert},
	{0, "MM\x00+", "a TIFF file", convert},
	{0, "SIMPLE  =                    F", "a FITS file that says of itself that it does not keep to the standard (SIMPLE = F)", convert},
	{0, "SIMPLE  =", "a FITS header without its cards of 80 characters: it was saved as text", findIt},
	{0, "\x93NUMPY", "a NumPy file", convert},
	{0, "PAR1", "a Parquet file, and not a folder of kerchunk's", convert},
	{0, "MATLAB 5.0", "a MATLAB file of before version 7.3", saveAgain},
	{0, "\x1f\x8b", "a file compressed by gzip", decompress},
	{0, "\x1f\x9d", "a file compressed by compress", decompress},
	{0, "BZh", "a file compressed by bzip2", decompress},
	{0, "\xfd7zXZ\x00", "a file compressed by xz", decompress},
	{0, "\x28\xb5\x2f\xfd", "a file compressed by zstd", decompress},
	{0, "PK\x03\x04", "a zip file that holds no Zarr, or not at its root", unpack},
	{257, "ustar", "a tar file", unpack},
	{0, "version https://git-lfs", "what Git LFS left in place of a file", fetchIt},
}

// described are documents in XML that say of other files what is in them, by what stands in
// their first tag.
var described = []other{
	{mark: "http://xml.opendap.org/ns/DAP/", what: "metadata of an OPeNDAP server (DMR, DDX), which do not say where the values are", to: nameDMRPP},
	{mark: "http://www.unidata.ucar.edu/namespaces/netcdf/ncml", what: "NcML, which describes other files", to: nameThem},
	{mark: "<Xdmf", what: "XDMF, which describes other files", to: nameThem},
	{mark: "<VTKFile", what: "a VTK file", to: convert},
}

// n5Document says what is in a folder of an N5 store; one of n5Marks is in that of the store itself, or of an
// array.
const (
	n5Document  = "attributes.json"
	maxDocument = 1 << 20
)

var n5Marks = []string{`"n5"`, `"blockSize"`}

const headBytes = 512

// recognize says what a file is that begins with head, and what to do, if it is one of those.
func recognize(head []byte) error {
	for _, o := range others {
		if len(head) >= o.at && bytes.HasPrefix(head[o.at:], []byte(o.mark)) {
			return fmt.Errorf("it is %s: %s", o.what, o.to)
		}
	}
	for _, o := range described {
		if looksLikeXML(head) && bytes.Contains(head, []byte(o.mark)) {
			return fmt.Errorf("it is %s: %s", o.what, o.to)
		}
	}
	return nil
}

// recognizeFolder says what a folder is, and what to do, if it is a store of a format that varve does not read.
func recognizeFolder(ctx context.Context, folder *source.Source) error {
	document, err := folder.ReadMember(ctx, n5Document, maxDocument)
	if err != nil {
		return nil // none that could be told
	}
	for _, mark := range n5Marks {
		if bytes.Contains(document, []byte(mark)) {
			return fmt.Errorf("it is an N5 store: %s", convert)
		}
	}
	return nil
}
