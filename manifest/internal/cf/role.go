package cf

import (
	"slices"
	"strings"

	"varve/manifest"
	"varve/zarrjson"
)

// Role is what the values of a coordinate are positions on.
type Role int

// The roles. X and Y are axes of a plane, or of a grid with a rotated pole.
const (
	OtherRole Role = iota
	LongitudeRole
	LatitudeRole
	XRole
	YRole
	ZRole
	TimeRole
)

// Standard names, units and values of axis that CF gives to coordinates.
var (
	standardRoles = map[string]Role{
		"longitude": LongitudeRole, "latitude": LatitudeRole, "projection_x_coordinate": XRole, "projection_y_coordinate": YRole,
		"projection_x_angular_coordinate": XRole, "projection_y_angular_coordinate": YRole, "grid_longitude": XRole, "grid_latitude": YRole,
	}
	axisRoles  = map[string]Role{"X": XRole, "Y": YRole, "Z": ZRole}
	longitudes = []string{"degrees_east", "degree_east", "degree_E", "degrees_E", "degreeE", "degreesE"}
	latitudes  = []string{"degrees_north", "degree_north", "degree_N", "degrees_N", "degreeN", "degreesN"}
)

// RoleOf returns the role that the attributes of an array declare.
func RoleOf(path string, schema *zarrjson.Array) Role {
	return RoleOfVariable(VariableOf(path, schema))
}

// RoleOfVariable returns the role that the attributes of a variable declare.
func RoleOfVariable(v *manifest.Variable) Role {
	text := func(name string) string {
		value, _ := Text(v.Attributes, name)
		return value
	}
	units, positive := text(UnitsName), text("positive")
	_, isTime, err := UnitsOf(v)
	switch role := standardRoles[text("standard_name")]; {
	case isTime && err == nil:
		return TimeRole
	case role != OtherRole:
		return role
	case slices.Contains(longitudes, units):
		return LongitudeRole
	case slices.Contains(latitudes, units):
		return LatitudeRole
	case strings.EqualFold(positive, "up"), strings.EqualFold(positive, "down"):
		return ZRole
	}
	return axisRoles[text("axis")]
}
