package source

import (
	"errors"
	"fmt"
	"regexp"
)

// pipelineStep is the second part of a URL pipeline of Zarr tools, such as s3://bucket/data.zarr|zarr3: or
// https://host/x.zip|zip:data.zarr|zarr2: . Other names may contain the character too, so only known steps count.
var pipelineStep = regexp.MustCompile(`(?i)\|(zarr[23]?|n5|icechunk|zip|gzip|zstd|bz2|xz|hdf5|ocdbt|json|byte-range|neuroglancer-precomputed|nifti|kerchunk):`)

// CheckPipeline returns an error if a URL is a URL pipeline, and not the name of a packed file. It sends no request.
func CheckPipeline(name string) error {
	if !IsURL(name) || IsPacked(name) {
		return nil
	}
	at := pipelineStep.FindStringIndex(name)
	if at == nil {
		return nil
	}
	return fmt.Errorf("%s: URL pipelines, such as %s, are not supported; varve recognises formats by itself, so write %s: %w",
		Shown(name), name[at[0]:at[1]], Shown(name[:at[0]]), errors.ErrUnsupported)
}
