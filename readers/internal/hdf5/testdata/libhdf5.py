"""Prints what libhdf5 reads of HDF5 files, whose names are lines of standard input.

A JSON object a line, in the order of the files: what it says is in the functions below. Each file is read in a process
of its own, since libhdf5 may crash or hang on damaged ones: {"error": "signal 11"}. Types are named as readers.Type has
it, values are hashed as hdf5.File.Canonical brings them into order.
"""
import ctypes, hashlib, json, math, os, resource, signal, struct, sys
import hdf5plugin  # noqa: F401  (registers filters)
import numpy as np
from h5py import h5a, h5d, h5f, h5g, h5i, h5l, h5o, h5s, h5t

SECONDS, MEMORY, LARGEST = 3, 2 << 30, 1 << 20
C, ID, P = ctypes.CDLL(h5d.__file__), ctypes.c_int64, ctypes.c_void_p
C.H5Dread.argtypes, C.H5Aread.argtypes = [ID] * 5 + [P], [ID, ID, P]
C.H5Oopen_by_addr.argtypes, C.H5Oopen_by_addr.restype = [ID, ctypes.c_uint64], ID
C.H5Eset_auto2(ID(0), None, None)
ORDERS = {h5t.ORDER_LE: "<", h5t.ORDER_BE: ">", h5t.ORDER_VAX: "V"}
IEEE = {2: (15, 10, 5, 0, 10, 15), 4: (31, 23, 8, 0, 23, 127), 8: (63, 52, 11, 0, 52, 1023), 16: (127, 112, 15, 0, 112, 16383)}
SPACES = {h5s.SCALAR: "scalar", h5s.SIMPLE: "simple", h5s.NULL: "null"}


def text(b):
    return b.decode("utf-8", "surrogateescape")


def name(b):
    """A name of an object or an attribute, a character a byte."""
    return b.decode("latin-1")


def order(t):
    return ORDERS.get(C.H5Tget_order(ID(t.id)), "?")


def number(t, kind):
    size = t.get_size()
    short = ("|" if size == 1 else order(t)) + kind + str(size)
    bits = f"{C.H5Tget_precision(ID(t.id))}@{C.H5Tget_offset(ID(t.id))}"
    if kind == "f":
        sign, exp, exps, mant, mants = t.get_fields()
        if IEEE.get(size) == (sign, exp, exps, mant, mants, t.get_ebias()) and t.get_norm() == h5t.NORM_IMPLIED and order(t) != "V":
            return short
        norm = ["implied", "msbset", "none"][t.get_norm()]
        return f"{short}{{{bits},sign={sign},exp={exp}:{exps},mant={mant}:{mants},bias={t.get_ebias()},norm={norm}}}"
    return short if bits == f"{8 * size}@0" else f"{short}{{{bits}}}"


def members(t):
    """Offset, name and type of each, in memory."""
    return sorted(((t.get_member_offset(i), text(t.get_member_name(i)), t.get_member_type(i)) for i in range(t.get_nmembers())), key=lambda m: m[:2])


def describe(t, addr):
    """The name of a type, and its size on disk."""
    c, size = t.get_class(), t.get_size()
    if c == h5t.INTEGER:
        return number(t, "u" if t.get_sign() == h5t.SGN_NONE else "i"), size
    if c == h5t.FLOAT:
        return number(t, "f"), size
    if c in (h5t.BITFIELD, h5t.TIME):
        return f"bitfield<{number(t, 'u')}>" if c == h5t.BITFIELD else f"time<{number(t, 'i')}>", size
    if c == h5t.STRING:
        cset = ["ascii", "utf8"][t.get_cset()]
        if t.is_variable_str():
            return f"vlen-str-{cset}", addr + 8
        return f"|S{size}{{{['nullterm', 'nullpad', 'spacepad'][t.get_strpad()]},{cset}}}", size
    if c == h5t.OPAQUE:
        return f"opaque:{text(t.get_tag())}:{size}", size
    if c == h5t.REFERENCE:
        if t.equal(h5t.STD_REF_OBJ):
            return "ref-object", addr
        return ("ref-region", addr + 4) if t.equal(h5t.STD_REF_DSETREG) else ("ref-std", addr + 10)
    if c == h5t.COMPOUND:
        less, parts = 0, []
        for off, label, m in members(t):
            sub, disk = describe(m, addr)
            parts.append(f"{json.dumps(label)}@{off - less}:{sub}")
            less += m.get_size() - disk
        return f"compound{size - less}{{{','.join(parts)}}}", size - less
    sub, disk = describe(t.get_super(), addr)
    if c == h5t.ENUM:
        pairs = sorted((t.get_member_value(i), text(t.get_member_name(i))) for i in range(t.get_nmembers()))
        return f"enum<{sub}>{{{','.join(f'{json.dumps(n)}={v}' for v, n in pairs)}}}", size
    if c == h5t.VLEN:
        return f"vlen<{sub}>", addr + 8
    if c == h5t.ARRAY:
        dims = t.get_array_dims()
        return f"array[({','.join(map(str, dims))})]{sub}", disk * math.prod(dims)
    return f"complex<{sub}>" if c == h5t.COMPLEX else f"class{c}<{sub}>", size


def canonical(t, b):
    """One element as it is in memory."""
    c = t.get_class()
    if c == h5t.COMPOUND:
        return b"".join(canonical(m, b[off:off + m.get_size()]) for off, _, m in members(t))
    if c in (h5t.ARRAY, h5t.COMPLEX):
        return elements(t.get_super(), b)
    if c == h5t.VLEN:
        n, p = struct.unpack("<QQ", b)
        return struct.pack("<Q", n) + elements(t.get_super(), ctypes.string_at(p, n * t.get_super().get_size()) if n else b"")
    if c == h5t.STRING and t.is_variable_str():
        p, = struct.unpack("<Q", b)
        s = ctypes.string_at(p) if p else b""
        return struct.pack("<Q", len(s)) + s
    if c == h5t.REFERENCE:
        return b[:12] if t.equal(h5t.STD_REF_DSETREG) else b[:8]
    if c == h5t.ENUM:
        return canonical(t.get_super(), b)
    return b[::-1] if c not in (h5t.STRING, h5t.OPAQUE) and order(t) == ">" else b


def elements(t, b):
    if t.get_class() in (h5t.INTEGER, h5t.FLOAT) and order(t) != ">":
        return b
    size = t.get_size()
    return b"".join(canonical(t, b[i:i + size]) for i in range(0, len(b), size))


def values(t, space, read):
    n = space.get_simple_extent_npoints()
    if n * t.get_size() > LARGEST:
        return "large"
    data = np.zeros((n, t.get_size()), np.uint8)
    if n and read(data.ctypes.data) < 0:
        raise RuntimeError("values")
    return hashlib.sha256(elements(t, data.tobytes())).hexdigest()


def described(x, addr, read, out):
    """What datasets and attributes have: type, shape, values."""
    t, space = x.get_type(), x.get_space()
    kind = SPACES[space.get_simple_extent_type()]
    out["type"], out["space"], out["shape"] = describe(t, addr)[0], kind, []
    if kind != "null":
        out["shape"] = list(space.get_simple_extent_dims())
        out["values"] = values(t, space, lambda p: read(t, p))


class File:
    """A file, with its objects by path. Hard links are followed by address: that needs no search for a name."""

    def __init__(self, path):
        self.file = h5f.open(os.fsencode(path), h5f.ACC_RDONLY)
        self.addr = self.file.get_create_plist().get_sizes()[0]
        self.seen, self.objects = {}, {}
        try:
            todo = [("/", h5l.TYPE_HARD, h5o.get_info(h5g.open(self.file, b"/")).addr)]
        except Exception as e:
            todo, self.objects["/"] = [], {"error": str(e)}
        while todo:
            todo += reversed(self.visit(*todo.pop()))

    def visit(self, path, kind, addr):
        """Adds an object; gives back the members of a group."""
        o = self.objects[path] = {}
        try:
            if kind != h5l.TYPE_HARD:
                o["kind"] = {h5l.TYPE_SOFT: "soft", h5l.TYPE_EXTERNAL: "external"}.get(kind, "user")
                return []
            if addr in self.seen:
                o["kind"], o["target"] = "second", self.seen[addr]
                return []
            id = C.H5Oopen_by_addr(self.file.id, addr)
            if id < 0:
                raise RuntimeError("open")
            x = h5i.wrap_identifier(id)
            self.seen[addr] = path
            o["kind"] = {h5g.GroupID: "group", h5d.DatasetID: "dataset"}.get(type(x), "datatype")
            o["attributes"], o["unreadable"] = self.attributes(x)
            return self.describe(x, o, path)
        except Exception as e:
            o["error"] = str(e)
            return []

    def describe(self, x, o, path):
        if o["kind"] == "datatype":
            o["type"] = describe(x, self.addr)[0]
        if o["kind"] == "dataset":
            o["maxshape"] = [None if m == h5s.UNLIMITED else m for m in x.get_space().get_simple_extent_dims(True) or ()]
            described(x, self.addr, lambda t, p: C.H5Dread(x.id, t.id, 0, 0, 0, p), o)
        if o["kind"] != "group":
            return []
        links = []
        x.links.iterate(lambda n, info: links.append((n, info.type, info.u)), info=True)
        return [(path.rstrip("/") + "/" + name(n), kind, addr) for n, kind, addr in sorted(links)]

    def attributes(self, x):
        """Attributes by name, and how many cannot be read."""
        out, unreadable = {}, 0
        for i in range(h5a.get_num_attrs(x)):
            try:
                a, one = h5a.open(x, index=i), {}
                out[name(a.get_name())] = one
                described(a, self.addr, lambda t, p: C.H5Aread(a.id, t.id, p), one)
            except Exception:
                unreadable += 1
        return out, unreadable


def read(path):
    try:
        return {"objects": File(path).objects}
    except Exception as e:
        return {"error": str(e)}


def isolated(path):
    """read(path), by a process that may die of it."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(r)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        signal.alarm(10 * SECONDS)
        for fd in 1, 2:  # which filters write to
            os.dup2(os.open(os.devnull, os.O_WRONLY), fd)
        with os.fdopen(w, "w") as f:
            json.dump(read(path), f)
        os._exit(0)
    os.close(w)
    with os.fdopen(r, "rb") as f:
        got = f.read()
    status = os.waitpid(pid, 0)[1]
    return got if status == 0 else json.dumps({"error": f"signal {os.WTERMSIG(status)}"}).encode()


os.environ.setdefault("HDF5_USE_FILE_LOCKING", "FALSE")
for line in sys.stdin:
    sys.stdout.buffer.write(isolated(line.rstrip("\n")) + b"\n")
    sys.stdout.flush()
