"""Peak memory of a fit beside the size of X, in memory and from a memory map.

Memory is what belongs to the process alone (``RssAnon``): pages of a mapped file are the system's
to drop. Linux only.
"""

import argparse
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from benchmarks._common import blobs
from hesitant import MixtureClassifier


def anonymous_bytes() -> int:
    """Return the memory that belongs to this process alone."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) * 1024
    raise OSError("/proc/self/status has no RssAnon")


class Peak:
    """The largest amount of memory while it is open, over that at the start."""

    def __enter__(self) -> "Peak":
        self.before = self.most = anonymous_bytes()
        self.open = True
        self.watcher = threading.Thread(target=self._watch, daemon=True)
        self.watcher.start()
        return self

    def _watch(self) -> None:
        while self.open:
            self.most = max(self.most, anonymous_bytes())
            time.sleep(0.005)

    def __exit__(self, *error: object) -> None:
        self.open = False
        self.watcher.join()
        self.extra = self.most - self.before


def write_map(path: Path, n: int, p: int, g: int) -> tuple[np.ndarray, np.ndarray]:
    """Write n rows to a .npy file block by block; return it mapped, with labels."""
    X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(n, p))
    y = np.empty(n, dtype=np.int8)
    for start in range(0, n, 1_000_000):
        stop = min(start + 1_000_000, n)
        X[start:stop], y[start:stop] = blobs(stop - start, p, g, seed=0)
    X.flush()
    del X
    return np.load(path, mmap_mode="r"), y


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    args = parser.parse_args()
    p, g = 10, 4
    MixtureClassifier().fit(*blobs(20_000, p, g))  # compile first
    X, y = blobs(1_000_000, p, g)
    with Peak() as peak:
        clf = MixtureClassifier().fit(X, y)
    share = peak.extra / X.nbytes
    print(f"in memory, {len(X):,} x {p}: extra {peak.extra / 1e6:.0f} MB, {share:.0%} of X")
    del X, y
    with tempfile.TemporaryDirectory() as folder:
        mapped, labels = write_map(Path(folder) / "x.npy", args.rows, p, g)
        begin = time.perf_counter()
        with Peak() as peak:
            clf = MixtureClassifier().fit(mapped, labels)
        seconds = time.perf_counter() - begin
        print(
            f"memory map, {args.rows:,} x {p} ({mapped.nbytes / 1e9:.1f} GB): extra "
            f"{peak.extra / 1e6:.0f} MB, {seconds:.0f} s, {clf.n_iter_} iterations"
        )


if __name__ == "__main__":
    main()
