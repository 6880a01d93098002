package tiff

import (
	"path"
	"regexp"
	"strings"
)

// bandNames matches the end of names of files that hold one band of a satellite's scene: Sentinel-2, Landsat, and HLS,
// which has both.
var bandNames = regexp.MustCompile(`(?i)[_.]((?:SR_|ST_)?B(?:\d{1,2}|8A)|SCL|AOT|WVP|TCI|Fmask|[SV][AZ]A|QA_[A-Z]+|SR_QA_[A-Z]+|ST_[A-Z]+)(?:_\d+m)?\.tiff?$`)

// variableName returns the name of the variable of a file's pixels: that of its band, if the name of the file ends with it
// as the producers of satellite data write it. Otherwise the files of several bands would be taken for the same one.
func variableName(source string) string {
	base := path.Base(strings.ReplaceAll(source, "\\", "/"))
	base, _, _ = strings.Cut(base, "?")
	if m := bandNames.FindStringSubmatch(base); m != nil {
		return m[1]
	}
	return pixels
}
