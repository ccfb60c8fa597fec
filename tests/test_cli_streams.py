"""Standard output that is full, closed, of another encoding; Ctrl-C before the work."""

import os
import pty
import re
import subprocess
import sys

import pytest

from hesitant.datasets import simulate

pytestmark = pytest.mark.skipif(os.name != "posix", reason="descriptors as Unix has them")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table and its model."""
    folder = tmp_path_factory.mktemp("streams")
    frame = simulate(n=120, random_state=1).to_frame("y")
    frame.insert(0, "name", [f"r\x1b[2J{i}" for i in range(len(frame))])
    frame.to_csv(folder / "a.csv", index=False)
    done = hesitant("analyse a.csv --label y --family gaussian --quiet", folder)
    assert done.returncode == 0, done.stderr
    return folder


def hesitant(words, cwd, **options):
    """Run a command line through the shell, which redirects."""
    return subprocess.run(
        f'"{sys.executable}" -m hesitant {words}',
        shell=True,
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize(
    "words", ["--help", "predict a.model a.csv --out -", "simulate --n 9 --out s.csv --json"]
)
def test_a_full_disk_behind_standard_output(words, folder):
    done = hesitant(f"{words} >/dev/full", folder)
    assert done.returncode == 1
    assert done.stderr == "Error: standard output: No space left on device.\n"


@pytest.mark.slow
@pytest.mark.parametrize("words", ["--help >&-", "predict a.model none >&- 2>&-"])
def test_closed_streams(words, folder):
    done = hesitant(words, folder)
    assert done.returncode == ("none" in words)
    assert done.stderr == ""


@pytest.mark.slow
def test_a_terminal_that_cannot_show_a_minus_sign(folder):
    words = "analyse a.csv --label y --family gaussian --force"
    done = on_terminal(words, folder, PYTHONIOENCODING="latin-1", TERM="xterm")
    assert done.returncode == 0, done.stdout
    assert "a.report.html" in done.stdout


@pytest.mark.slow
def test_cells_cannot_steer_a_terminal(folder):
    done = on_terminal("predict a.model a.csv --out -", folder, TERM="dumb")
    assert done.returncode == 0
    assert "r·[2J0" in done.stdout
    assert "\x1b[2J" not in done.stdout


def on_terminal(words, cwd, **environment):
    """Run a command on a pseudo-terminal; return its exit code and what it showed."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "hesitant", *words.split()],
        cwd=cwd,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**os.environ, **environment},
    )
    os.close(slave)
    shown = b""
    while True:
        try:
            piece = os.read(master, 1 << 16)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        shown += piece
    os.close(master)
    return subprocess.CompletedProcess(words, process.wait(), shown.decode("utf-8", "replace"))


INTERRUPTED = """
import sys
class Finder:
    def find_spec(self, name, *_):
        if name == {module!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Finder())
sys.argv = ["hesitant", "analyse", "a.csv", "--label", "y", "--force"]
from hesitant.cli import main
main()
"""


@pytest.mark.parametrize("module", ["typer", "hesitant.cli._terminal", "pandas", "sklearn.base"])
def test_ctrl_c_while_starting_up(module, folder):
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED.format(module=module)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert re.fullmatch(r"Error: stopped.*\n", done.stderr)
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before
