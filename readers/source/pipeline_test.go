package source

import (
	"errors"
	"net/http"
	"testing"
)

// noTransport fails the test if a request is made.
type noTransport struct{ *testing.T }

func (t noTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.Errorf("requested %s", r.URL)
	return nil, errors.New("no request was expected")
}

func TestURLPipelines(t *testing.T) {
	o := NewOpener(&Options{Transport: noTransport{t}})
	defer o.Close()
	for _, name := range []string{
		"s3://bucket/data.zarr|zarr3:", "https://host/x.zip|zip:data.zarr|zarr2:", "gs://bucket/repo|icechunk://branch.main/",
		"file:///data/x.zarr|zarr:",
	} {
		if err := CheckPipeline(name); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := o.Open(t.Context(), name); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"s3://bucket/a|b.nc", "s3://bucket/a|b:c", "data.zarr|zarr3:", "https://host/x?a=b|c"} {
		if err := CheckPipeline(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
