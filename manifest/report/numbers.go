package report

import "strconv"

// Thousands writes a number with commas.
func Thousands(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// Size writes a number of bytes with a binary unit.
func Size(n int64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	value, unit := float64(n)/1024, 0
	// 1023.95 would be rounded to 1024.0, so use the next unit.
	for value >= 1023.95 && unit < len(units)-1 {
		value, unit = value/1024, unit+1
	}
	return strconv.FormatFloat(value, 'f', 1, 64) + " " + units[unit:unit+1] + "iB"
}
