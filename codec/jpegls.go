package codec

import (
	"fmt"

	"varve/codec/internal/jpegls"
)

// newJPEGLS returns the decoder of HDF5's filter 32018: JPEG-LS images, as in EUMETSAT's
// archives.
//
// Specification: ITU-T T.87; FCIDECOMP's H5Zjpegls. The client values are the size of a
// sample in bytes, the numbers of components, lines and columns, and encoder parameters.
//
//	{"name": "hdf5.jpegls", "configuration": {"cd_values": [2, 1, 60, 30, 16, 1, 0, 0, 0, 0, 0, 0, 0]}}
func newJPEGLS(c *config, _ Form) (Codec, error) {
	values := c.clientValues(0)
	return &decoder{key: fmt.Sprint("jpegls", values), decode: jpegls.Parse(values).Decode}, nil
}
