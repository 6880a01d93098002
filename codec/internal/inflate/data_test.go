package inflate

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
)

// shuffledField returns a smooth float32 field with noise, rounded to 1/64 and byte-shuffled, like most deflated
// chunks of an archive.
func shuffledField(rng *rand.Rand, count int) []byte {
	width := int(math.Sqrt(float64(count)))
	shuffled := make([]byte, 4*count)
	for i := range count {
		y, x := float64(i/width)/float64(width), float64(i%width)/float64(width)
		v := 250 + 45*math.Cos(y*math.Pi/2) + 6*math.Sin(3*math.Pi*x)*math.Cos(math.Pi*y) + 0.3*rng.NormFloat64()
		var word [4]byte
		binary.LittleEndian.PutUint32(word[:], math.Float32bits(float32(math.Round(v*64)/64)))
		for k, b := range word {
			shuffled[k*count+i] = b
		}
	}
	return shuffled
}
