package mount

import (
	"log/slog"

	"varve/manifest/serve"
)

// Options say how a folder shows datasets.
type Options struct {
	// Handler has the datasets. The caller closes it after the folder is unmounted.
	Handler *serve.Handler
	// AllowOther lets users read who did not mount the folder.
	AllowOther bool
	// Log receives why a read failed; nil discards it.
	Log *slog.Logger
}
