"""Writes times.json: what xarray and cftime make of times. Run by hand; the result is committed.

    python generate.py > times.json

Each case is [units, calendar, type, value, seconds, nanoseconds]: the value as a number of the type, and the
moment it is, counted from 1970-01-01 of the line that its calendar is on.
"""
import json
import random
import warnings

import cftime
import numpy as np
import xarray as xr

warnings.simplefilter("ignore")
random.seed(20251121)

DATES = ["1970-01-01", "1900-1-1", "1582-10-15", "1990-01-01T06:30Z", "1990-1-1 00:00:0.0 +02:00", "2001-12-31 23:59:59.123456",
         "1999-06-15 12:00:00 -0600", "0001-01-01", "1800-01-01 00:00", "2400-02-28", "1990-01-01 00:00:00 UTC", "1850-01-01 6:00"]
UNITS = ["nanoseconds", "microseconds", "milliseconds", "seconds", "minutes", "hours", "days", "Days", "hour", "hrs", "s", "msec"]
CALENDARS = ["standard", "gregorian", "proleptic_gregorian", "noleap", "365_day", "all_leap", "366_day", "360_day", "julian", ""]


def length(unit):
    unit = unit.lower()
    for names, n in [(("nano",), 1e-9), (("micro",), 1e-6), (("milli", "msec"), 1e-3), (("s",), 1), (("min",), 60), (("h",), 3600)]:
        if unit.startswith(names):
            return n
    return 86400


def moment(decoded, calendar):
    if isinstance(decoded, np.datetime64):
        return divmod(int(decoded.astype("M8[ns]").astype("i8")), 10**9)
    calendar = calendar or "standard"
    apart = decoded - cftime.datetime(1970, 1, 1, calendar=calendar)
    if calendar == "julian":  # its days have other names; 1970-01-01 is 1969-12-19 there
        apart = decoded - cftime.datetime(1969, 12, 19, calendar=calendar)
    return apart.days * 86400 + apart.seconds, apart.microseconds * 1000


def decode(units, calendar, kind, value):
    attrs = {"units": units} | ({"calendar": calendar} if calendar else {})
    ds = xr.Dataset({"t": ("x", np.array([value], kind), attrs)})
    decoded = xr.decode_cf(ds, decode_times=xr.coders.CFDatetimeCoder(time_unit="ns"))["t"].values[0]
    if decoded != decoded or not isinstance(decoded, (np.datetime64, cftime.datetime)):
        raise ValueError(decoded)
    return moment(decoded, calendar)


cases = []
while len(cases) < 300:
    unit, calendar = random.choice(UNITS), random.choice(CALENDARS)
    units = f"{unit} since {random.choice(DATES)}"
    span = random.choice([1, 1e5, 1e9, 2e9, 2e10]) * random.choice([1, 1, -1])
    kind = random.choice(["i4", "i8", "f4", "f8", "f8", "f8"])
    number = span * random.random() / length(unit)
    if kind[0] == "i":
        if abs(number) >= (2**31 if kind == "i4" else 2**53):  # beyond, xarray calculates in float64 where cftime decodes
            continue
        number = int(number)
    else:
        number = float(np.dtype(kind).type(random.choice([number, round(number), round(number * 24) / 24, round(number, 3)])))
    try:
        cases.append([units, calendar, kind, number, *decode(units, calendar, kind, number)])
    except Exception:
        continue
print("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]")
