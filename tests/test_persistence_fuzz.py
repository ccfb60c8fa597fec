"""Damaged and hostile model files: each loads as a sound model or is refused.

They are tried in a process of its own with little memory, so that a crash is a failure of this
test and not the end of the run.
"""

import subprocess
import sys
from pathlib import Path

import pytest

MODELS = Path(__file__).parent / "data" / "models"
CASES = 400

_TRY = """
import copy, json, random, resource, sys, warnings
from pathlib import Path
import numpy as np

warnings.simplefilter("ignore")
from hesitant import MixtureClassifier
from hesitant.datasets import simulate
from hesitant.mechanisms import EntropyMechanism
from hesitant.persistence import ModelFileError, load, save

folder, cases = Path(sys.argv[1]), int(sys.argv[2])
data = simulate(150, random_state=0)
X, y = data.features, data.labels
originals = [Path(name).read_text() for name in sys.argv[3:]]
for k, options in enumerate([
    {},
    {"mechanism": "mixed", "covariance": "tied"},
    {"family": "t", "mechanism": EntropyMechanism(basis="spline")},
    {"family": "skew_t", "mechanism": None},
]):
    clf = MixtureClassifier(max_iter=20, **options).fit(X, y)
    originals.append(save(clf, folder / f"{k}.model").read_text())
# Compiled code is there now: what is left for a file is a gigabyte.
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), used + (1 << 30)))
rng = random.Random(20240501)
ODD = [
    None, True, -1, 0, 1, 2, 3, 7, 10**6, 10**9, 10**30, -0.5, 1e300, "", "nan", "inf", "float32",
    "int64", "object", "str", "AAAAAAAA8D8=", "os:system", "Gaussian", "Spline", "Family", [], {},
    [1], [10**9, 10**9], {"object": {"class": "Spline", "options": {"df": 10**8}}},
    {"object": {"class": "MixtureClassifier", "options": {}}}, {"float": "nan"}, {"tuple": []},
    {"dtype": "float64", "shape": [0], "base64": ""},
]


def places(part, at=()):
    items = part.items() if isinstance(part, dict) else enumerate(part)
    for key, value in items:
        yield at, key
        if isinstance(value, dict | list):
            yield from places(value, (*at, key))


def change(text):
    kind = rng.random()
    if kind < 0.25:  # somewhere in the text
        at, length = rng.randrange(len(text)), rng.randrange(8)
        patch = "".join(rng.choices('0123456789eE.-+"[]{},:\\\\uDd8', k=rng.randrange(8)))
        return text[:at] + patch + text[at + length :]
    document = json.loads(text)
    for _ in range(rng.choice([1, 1, 2, 5])):
        at, key = rng.choice(list(places(document)))
        part = document
        for step in at:
            part = part[step]
        old = part[key]
        choice = rng.random()
        if choice < 0.1:
            del part[key]
        elif choice < 0.5 and isinstance(old, int | float) and not isinstance(old, bool):
            factor = rng.choice([-1, 0, 1e-300, 1e150, 1e300, 10**6])
            part[key] = type(old)(min(old * factor, 1e308))
        elif choice < 0.5 and isinstance(old, str) and len(old) > 11 and old.endswith("="):
            part[key] = old[: 4 * rng.randrange(len(old) // 4)] + old[4:]
        elif choice < 0.6:
            other, name = rng.choice(list(places(document)))
            source = document
            for step in other:
                source = source[step]
            part[key] = copy.deepcopy(source[name])
        else:
            part[key] = rng.choice(ODD)
    return json.dumps(document)


loaded = 0
for case in range(cases):
    path = folder / "case.model"
    path.write_text(change(rng.choice(originals)), errors="surrogatepass")
    print(case, flush=True)
    try:
        model = load(path)
    except ModelFileError as error:
        assert str(error).isprintable(), case
        continue
    loaded += 1
    p = model.n_features_in_
    for rows in (np.zeros((2, p)), np.full((1, p), 1e6), -np.ones((1, p)) * 1e9):
        found = [model.predict_proba(rows)]
        if isinstance(model, MixtureClassifier):
            found += [model.entropy(rows), model.labelling_probability(rows)]
        for values in found:
            assert np.isfinite(values).all(), (case, values)
assert cases / 50 < loaded < cases / 2, loaded
print("sound", loaded)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is measured as on Linux")
def test_damaged_model_files_load_or_are_refused(tmp_path) -> None:
    files = [str(path) for path in sorted(MODELS.glob("*.model"))]
    command = [sys.executable, "-c", _TRY, str(tmp_path), str(CASES), *files]
    done = subprocess.run(command, capture_output=True, text=True)
    last = done.stdout.splitlines()[-1:]
    assert done.returncode == 0, f"case {last}: {done.stderr[-2000:]}"
    assert "sound" in done.stdout
