"""The help of the command line, as the command itself prints it."""

import os
import subprocess
import sys

from docutils import nodes
from docutils.parsers.rst import Directive


class CommandHelp(Directive):
    """``command-help:: analyse`` shows what ``hesitant analyse --help`` prints."""

    optional_arguments = 1
    final_argument_whitespace = True

    def run(self):
        """Return the help as a block of text."""
        words = self.arguments[0].split() if self.arguments else []
        # the entry point, as the installed command calls it
        code = "from hesitant.cli import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", code, *words, "--help"],
            env={**os.environ, "COLUMNS": "92", "NO_COLOR": "1", "TERM": "dumb"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise self.error(f"hesitant {' '.join(words)} --help failed: {done.stderr}")
        text = "\n".join(line.rstrip() for line in done.stdout.strip().splitlines())
        block = nodes.literal_block(text, text)
        block["language"] = "text"
        return [block]


def setup(app):
    """Register with Sphinx."""
    app.add_directive("command-help", CommandHelp)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
