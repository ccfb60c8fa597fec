"""What a sitting leaves behind: the table, the journal, the model and the report."""

import io
import tempfile
import warnings
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from hesitant.desk._learning import evidence
from hesitant.desk._sitting import Desk
from hesitant.exceptions import FitWarning

if TYPE_CHECKING:
    import pandas as pd

_README = """\
NAME.labelled.csv: the table with the labels given at the desk. Further columns:
  status    "table" (labelled before), "labelled", "withheld" (seen, and nobody could tell),
            "not shown" (not my case), "readers differ", or blank (never asked)
  reviewed  what --reviewed expects: yes where the row tells of free hesitation
  said by … what each reader answered
NAME.journal.csv: every answer, those taken back among them (undone has the time); rows from 1.
NAME.desk.sqlite: the same, as the desk keeps it; rows from 0.
NAME.model, NAME.report.html: the model and its report, if there were labels enough.
"""


def labelled_table(desk: Desk) -> "pd.DataFrame":
    """Return the table with the answers in it; labels, withheld and not shown are kept apart."""
    import pandas

    (data, _), answers = desk.ready(), desk.journal.answers()
    codes, reviewed = evidence(data, answers)
    status: list[str | None] = ["table" if h >= 0 else None for h in data.codes]
    for a in answers:
        row = a["row"]
        if a["answer"] == "label":
            status[row] = "labelled" if codes[row] >= 0 else "readers differ"
        elif status[row] in (None, "not shown"):
            status[row] = "withheld" if a["answer"] == "cannot tell" else "not shown"
    frame = pandas.DataFrame(dict(desk.columns))
    names = [*data.setup.classes, None]
    frame[data.setup.label] = pandas.Series([names[h] for h in codes], dtype=object)
    added: dict[str, list[str | None]] = {
        "status": status,
        "reviewed": ["yes" if r else "no" for r in reviewed],
    }
    for reader in sorted({a["reader"] for a in answers}):
        own = {a["row"]: a["label"] or a["answer"] for a in answers if a["reader"] == reader}
        added[f"said by {reader}"] = [own.get(i) for i in range(len(frame))]
    for name, cells in added.items():
        frame[f"{name} (desk)" if name in frame else name] = cells
    return frame


def archive(desk: Desk) -> bytes:
    """Return everything as a ZIP archive."""
    import pandas

    from hesitant import save
    from hesitant.tables import write_csv

    desk.worker.settle(timeout=60)  # a model of all answers, if that does not take forever
    data, model = desk.ready()
    out = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(out, "w", 8) as packed:
        base = Path(folder) / desk.name
        write_csv(labelled_table(desk), f"{base}.labelled.csv")
        journal = pandas.DataFrame(desk.journal.answers("TRUE"))
        if len(journal):
            journal["row"] += 1  # files for people count from 1
            write_csv(journal, f"{base}.journal.csv")
        if model.clf is not None:
            save(model.clf, f"{base}.model", notes={"table": desk.path.name})
            X, y, reviewed = model.rows()
            ids = [i for i, kept in zip(data.ids, data.usable, strict=True) if kept]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FitWarning)
                report = model.clf.report(X, y, reviewed=reviewed, ids=ids, name=desk.path.name)
                report.write_html(f"{base}.report.html")
        for path in sorted(Path(folder).iterdir()):
            packed.write(path, path.name)
        packed.writestr(f"{desk.name}.desk.sqlite", desk.journal.content())
        packed.writestr("README.txt", _README.replace("NAME", desk.name))
    return out.getvalue()
