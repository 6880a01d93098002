package s3

// vectors are the signatures of keys, computed by testdata/sign.py.
var vectors = map[string]string{
	"test.txt":       "6dbaa08808a26092e1a8dfea288abde7fb11fabbe52879597478ac290abaf188",
	"a b.nc":         "b966cb7063cf8ce9003dcf073b641185b81ecbb38d1b073331e11717e10e387e",
	"100%.nc":        "5e06cf834d4f2dc85412898bea6ef69ebe81d40750b6a6dbc85c749f65c4e96a",
	"a%20b.nc":       "758230910035161612b30e6ffe4f8c0a428af3043432c1f9102382532e26763c",
	"c#d?e=f&g+h.nc": "852325434399f8411248f5dbd780e1e1e2771654df44f4fc0764bb8b85e0ab6d",
	"é/日本.nc":        "5272b367ac4f561c25ad77ec5dd307afdeb8a06071bc2ff8e2e1c5df22aa8fe5",
	"//double":       "10cf87bad6df3338e863cab12d278c469897c7468ebc71e0b862c9020695ffc7",
	"x(1)*~'!.nc":    "02269894ec205a0f5bd59e17601e3e40fce6e7bdddd10ab435904ccfd99d7959",
}
