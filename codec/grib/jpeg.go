package grib

import (
	"fmt"
	"unsafe"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/jpeg2000"
)

// jpeg is template 5.40: the integers of simple packing are a JPEG 2000 image. The image has all
// parameters of the compression, so those in section 5 are ignored.
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
	return &jpeg{newScaling(info), f.Section7[header7:]}, nil
}

func (p *jpeg) decode(dst []float64) error {
	im, err := jpeg2000.Parse(p.data)
	if err != nil {
		return err
	}
	pixels := uint64(im.Width) * uint64(im.Height)
	if pixels < uint64(len(dst)) || pixels > uint64(len(dst))+uint64(len(p.data)) {
		return corrupt.Errorf("the image has %d × %d samples, and the field has %d values", im.Width, im.Height, len(dst))
	}
	// Decode the samples to the second half of the memory of dst. A value overwrites only samples that
	// have been read.
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
