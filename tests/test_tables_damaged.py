"""Damaged files, in a process of their own with little memory: a crash there is a failure here."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

PROGRAM = r"""
import bz2, gzip, io, json, lzma, random, resource, sys, zipfile
from array import array
import numpy as np, pandas as pd
from hesitant.tables import TableError, read_table, select_columns

kind, start, stop = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
rng = np.random.default_rng(0)
frame = pd.DataFrame({
    "x": rng.normal(size=40), "k": np.arange(40) % 7, "y": rng.choice(["a", "b", None], 40),
    "c": pd.Categorical(rng.choice(["u", "v"], 40)), "b": [True, False] * 20,
})
text = frame.to_csv(index=False).encode()

def archive(name="a.csv", data=text):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(name, data)
    return buffer.getvalue()

def written(method, **options):
    buffer = io.BytesIO()
    getattr(frame, method)(buffer, **options)
    return buffer.getvalue()

def fcs():
    import flowio
    buffer = io.BytesIO()
    flowio.create_fcs(buffer, array("f", rng.normal(size=80).tolist()), ["x", "y"])
    return buffer.getvalue()

sys.path.insert(0, sys.argv[4])
from helpers_tables import xlsx

def workbook():
    rows = [list(frame)] + [[v if isinstance(v, (str, float)) else None for v in row]
                            for row in frame.astype(object).values.tolist()]
    return xlsx({"s": rows})

good = {
    "csv": lambda: text,
    "zip": archive,
    "gz": lambda: gzip.compress(text),
    "bz2": lambda: bz2.compress(text),
    "xz": lambda: lzma.compress(text),
    "json": lambda: frame.to_json(orient="records").encode(),
    "xlsx": workbook,
    "xlsx, inside": lambda: zipfile.ZipFile(io.BytesIO(workbook())).read(
        "xl/worksheets/sheet1.xml"
    ),
    "parquet": lambda: written("to_parquet"),
    "feather": lambda: written("to_feather"),
    "feather, plain": lambda: written("to_feather", compression="uncompressed"),
    "feather, zstd": lambda: written("to_feather", compression="zstd"),
    "fcs": fcs,
}[kind]()

def mutated(seed):
    r, data = random.Random(seed), bytearray(good)
    for _ in range(r.choice([1, 1, 2, 4, 16])):
        way, at = r.random(), r.randrange(len(data))
        if way < 0.6:
            data[at] = r.randrange(256)
        elif way < 0.8:
            data[at] ^= 1 << r.randrange(8)
        elif way < 0.9:
            end = min(len(data), at + r.randrange(1, 9))
            data[at:end] = bytes([r.choice([0, 255, 127, 128])]) * (end - at)
        else:
            del data[at : at + r.randrange(1, 20)]
        if len(data) < 2:
            break
    if kind == "xlsx, inside":
        return xlsx({"s": []}, bytes(data))
    return bytes(data)

read = refused = 0
for seed in range(start, stop):
    print(seed, file=sys.stderr)  # the last one is to blame
    try:
        found = read_table(io.BytesIO(mutated(seed)), format="fcs" if kind == "fcs" else None)
        read += 1
        select_columns(found, label=str(found.columns[-1]), on_missing="drop")
    except TableError as error:
        refused += 1
        assert str(error).isprintable(), repr(str(error))
        assert len(str(error)) < 1000, str(error)
print(json.dumps({"read": read, "refused": refused}))
"""

KINDS = ["csv", "zip", "gz", "bz2", "xz", "json", "xlsx", "xlsx, inside", "parquet", "feather"]
KINDS += ["feather, plain", "feather, zstd", "fcs"]


@pytest.mark.parametrize("kind", KINDS)
def test_damage_is_refused_and_never_ends_the_process(kind, request):
    if kind == "fcs":
        pytest.importorskip("flowio")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, kind, "0", "400", str(request.path.parent)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert '"refused"' in done.stdout
