package source_test

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"varve/readers/source"
)

// A custom transport serves files of any fs.FS under URLs. With such an Opener, manifests can be built from files
// in places that varve does not support itself.
func ExampleOptions_transport() {
	files := http.NewFileTransportFS(os.DirFS("../../fixtures/demo"))
	opener := source.NewOpener(&source.Options{Transport: files})
	defer opener.Close()
	src, err := opener.Open(context.Background(), "http://months/2021-01.nc")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer src.Close()
	magic, err := src.View(context.Background(), 0, 4)
	fmt.Printf("%s: %d bytes, %q %v\n", src.Name(), src.Size(), magic, err)
	// Output: http://months/2021-01.nc: 13567 bytes, "\x89HDF" <nil>
}
