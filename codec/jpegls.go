package codec

import (
	"fmt"

	"varve/codec/internal/jpegls"
)

// newJPEGLS makes the decoder of HDF5's filter 32018: JPEG-LS images, as EUMETSAT's archives
// hold them.
//
// Specification: ITU-T T.87; FCIDECOMP's H5Zjpegls. The client values are the size of a
// sample in bytes, then components, lines and columns, and how they are encoded.
//
//	{"name": "hdf5.jpegls", "configuration": {"cd_values": [2, 1, 60, 30, 16, 1, 0, 0, 0, 0, 0, 0, 0]}}
func newJPEGLS(c *config, _ Form) (Codec, error) {
	values := c.clientValues(0)
	return &foreign{key: fmt.Sprint("jpegls", values), decode: jpegls.Parse(values).Decode}, nil
}
