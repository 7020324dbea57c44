"""Model files taken apart, changed and put together again, with the standard library and NumPy."""

import copy
import io
import json
import os
import random
import struct
import zipfile

import numpy as np

NASTY = [
    None,
    True,
    False,
    0,
    -1,
    1,
    2,
    10**9,
    10**12,
    2**63,
    -(2**63) - 1,
    10**400,
    0.5,
    -0.0,
    1e308,
    -1e308,
    5e-324,
    "",
    "all",
    "learned",
    "é\n\x00",
    "../../x",
    [],
    [0],
    [1, 2],
    [[], []],
    {},
    {"a": 1},
    float("nan"),
    float("inf"),
    float("-inf"),
]
NUMBERS = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-300, 5e-324, 1e308, -1e308, np.nan, np.inf, -np.inf, 1e-9]
DTYPES = ["<f8", "<i8", "|b1", "|u1", ">f8", "<f4", "<U3", "|S8", "<c16", "<M8[s]"]


class Planted:
    """Runs a command when it is unpickled."""

    def __init__(self, mark):
        self.mark = str(mark)

    def __reduce__(self):
        return (os.mkdir, (self.mark,))


def taken_apart(path):
    """The entries of a file by name."""
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def put_together(path, entries, compression=zipfile.ZIP_STORED):
    """Write entries, given as a dict or as pairs, with valid checksums."""
    pairs = entries.items() if isinstance(entries, dict) else entries
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, data in pairs:
            file.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, compression)


def npy(array):
    """Bytes of an array in NumPy's format."""
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asarray(array), version=(1, 0), allow_pickle=True)
    return buffer.getvalue()


def array_of(data):
    return np.load(io.BytesIO(data))


def with_header(data, header):
    """Replace the header of an array, and keep its bytes."""
    length = 10 + int.from_bytes(data[8:10], "little")
    text = header.encode("latin-1") + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data[length:]


def header_of(descr="<f8", order=False, shape=(1,)):
    return f"{{'descr': {descr!r}, 'fortran_order': {order}, 'shape': {shape}, }}"


def changed(path, target, change):
    """Write a copy in which ``change(document, arrays)`` has edited description and arrays."""
    entries = taken_apart(path)
    document = json.loads(entries.pop("model.json"))
    arrays = {name.removesuffix(".npy"): array_of(data) for name, data in entries.items()}
    change(document, arrays)
    document["arrays"] = sorted(arrays)
    put_together(
        target,
        {
            "model.json": json.dumps(document).encode(),
            **{f"{name}.npy": npy(array) for name, array in arrays.items()},
        },
    )
    return target


# --------------------------------------------------------------------------- random mutations


def mutated(path, target, seed, mark):
    """Write a copy with one to three random changes, all but the first kind with valid checksums.

    Returns the name of the kind of change. ``mark`` is what a planted pickle would create.
    """
    rng = random.Random(seed)
    kind = rng.choice(["bytes", "json", "json", "json", "entries", "array", "array", "header"])
    if kind == "bytes":
        target.write_bytes(_other_bytes(rng, path.read_bytes()))
        return kind
    entries = taken_apart(path)
    compression = zipfile.ZIP_STORED
    done: set[str] = set()
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if kind == "json":
            entries["model.json"] = _other_json(rng, entries["model.json"])
        elif kind == "entries":
            entries, compression = _other_entries(rng, entries, mark)
        else:
            # Each array once: what NumPy makes of a changed header is not what is tested.
            name = rng.choice([name for name in entries if name.endswith(".npy")])
            if name not in done:
                other = _other_array if kind == "array" else _other_header
                entries[name] = other(rng, entries[name], mark)
                done.add(name)
    put_together(target, entries, compression)
    return kind


def _other_bytes(rng, data):
    data = bytearray(data)
    how = rng.randrange(5)
    if how == 0:
        return bytes(data[: rng.randrange(len(data))])
    if how == 1:
        return bytes(data) + rng.randbytes(rng.randrange(1, 40))
    if how == 2:
        start = rng.randrange(len(data))
        del data[start : start + rng.randrange(1, 100)]
    elif how == 3:  # the directory, which says where everything is
        for _ in range(rng.randrange(1, 4)):
            data[rng.randrange(len(data) - min(len(data), 1500), len(data))] = rng.randrange(256)
    else:
        for _ in range(rng.randrange(1, 6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def _places(value, path=()):
    """Paths to every value inside a document."""
    yield path
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _places(part, (*path, key))


def _other_json(rng, data):
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):  # of an earlier change
        return data
    place = rng.choice(list(_places(document))[1:] or [()])
    if not place:
        return data
    parent = document
    for key in place[:-1]:
        parent = parent[key]
    how = rng.randrange(4)
    if how == 0 and isinstance(parent, dict):
        del parent[place[-1]]
    elif how == 1 and isinstance(parent, dict):
        parent[rng.choice(["more", "", "a.b"])] = parent[place[-1]]
    elif how == 2 and isinstance(parent[place[-1]], int | float) and abs(parent[place[-1]]) < 1e300:
        parent[place[-1]] = parent[place[-1]] * rng.choice([-1, 2, 1.5, 10**6]) + rng.choice([0, 1])
    else:
        parent[place[-1]] = copy.deepcopy(rng.choice(NASTY))
    text = json.dumps(document)
    if rng.random() < 0.03:
        text = text.replace("null", "[" * 100_000, 1)
    return text.encode()


def _other_entries(rng, entries, mark):
    names = [name for name in entries if name.endswith(".npy")]
    one, two = rng.choice(names), rng.choice(names)
    entries = dict(entries)
    how = rng.randrange(7)
    if how == 0:
        entries.pop(rng.choice([one, "model.json"]), None)
    elif how == 1:
        entries[rng.choice(["x.npy", "../x.npy", "/x", "model.JSON", "é.npy"])] = entries[one]
    elif how == 2:
        entries[rng.choice([f"x{one}", one.upper(), f"{one}/"])] = entries.pop(one)
    elif how == 3:
        entries[one], entries[two] = entries[two], entries[one]
    elif how == 4:
        return entries, zipfile.ZIP_DEFLATED
    elif how == 5:
        entries[one] = npy(np.zeros(3_000_000))
        return entries, rng.choice([zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
    else:
        entries[one] = npy(np.array([Planted(mark)], dtype=object))
    return entries, zipfile.ZIP_STORED


def _other_array(rng, data, mark):
    del mark
    array = array_of(data).copy()
    flat = array.reshape(-1)
    how = rng.randrange(6)
    if how == 0 and flat.size:
        position = rng.randrange(flat.size)
        value = rng.choice(NUMBERS) if array.dtype.kind == "f" else rng.randrange(-3, 300)
        flat[position] = np.array(value).astype(array.dtype) if value == value else np.nan
    elif how == 1 and flat.size:
        raw = bytearray(array.tobytes())
        raw[rng.randrange(len(raw))] = rng.randrange(256)
        array = np.frombuffer(bytes(raw), array.dtype).reshape(array.shape)
    elif how == 2:
        array = np.concatenate([array, array]) if array.ndim else array
    elif how == 3:
        array = array[: array.shape[0] // 2]
    elif how == 4 and array.dtype.kind == "f":
        array = array * rng.choice([0.0, -1.0, 1 + 1e-7, 2.0])
    else:
        array = array[::-1].copy()
    return npy(array)


def _other_header(rng, data, mark):
    how = rng.randrange(5)
    if how == 0:
        sizes = [0, 1, 2, 10**6, 10**9, 10**12, 10**30, -1]
        shape = tuple(rng.choice(sizes) for _ in range(rng.randrange(4)))
        return with_header(data, header_of(shape=shape))
    if how == 1:
        return with_header(data, header_of(rng.choice([*DTYPES, "|O"]), shape=(len(data),)))
    if how == 2:
        return npy(np.array([Planted(mark)], dtype=object))
    if how == 3:
        raw = bytearray(data)
        raw[rng.randrange(min(128, len(raw)))] = rng.randrange(256)
        return bytes(raw)
    array = array_of(data)
    with np.errstate(all="ignore"):
        return npy(np.asfortranarray(array) if rng.random() < 0.3 else array.astype("<f4"))
