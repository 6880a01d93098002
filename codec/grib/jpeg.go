package grib

import (
	"fmt"
	"unsafe"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/jpeg2000"
)

// jpeg is template 5.40: integers as of simple packing are an image in JPEG 2000. What section 5
// says of the compression does not matter, the image says it itself.
type jpeg struct {
	scaling
	data []byte
}

func (f *Field) openJPEG(info *Info) (packing, error) {
	if err := f.scaled(info, "grid_jpeg", scaled5); err != nil {
		return nil, err
	}
	if info.BitsPerValue == 0 {
		return constant(info.Reference), nil
	}
	return &jpeg{newScaling(info.Reference, info.BinaryScale, info.DecimalScale), f.Section7[header7:]}, nil
}

func (p *jpeg) decode(dst []float64) error {
	im, err := jpeg2000.Parse(p.data)
	if err != nil {
		return err
	}
	pixels := uint64(im.Width) * uint64(im.Height)
	if pixels < uint64(len(dst)) || pixels > uint64(len(dst))+uint64(len(p.data)) {
		return corrupt.Errorf("%d values are an image of %d × %d samples", len(dst), im.Width, im.Height)
	}
	// The samples take the second half of the memory of the values, which the values overtake only
	// where they have been read.
	samples := unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(dst))), 2*len(dst))[len(dst):]
	if pixels > uint64(len(dst)) {
		samples = make([]int32, pixels)
	}
	if err := im.Decode(samples); err != nil {
		return fmt.Errorf("an image of %d × %d samples: %w", im.Width, im.Height, err)
	}
	for i := range dst {
		dst[i] = p.of(float64(samples[i]))
	}
	return nil
}
