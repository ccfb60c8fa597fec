"""`Report`: one analysis, as a page that needs nothing else or as plain data."""

import base64
import hashlib
import html
import json
import os
import platform
import re
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import hesitant
from hesitant._drawing import COLORS
from hesitant._optional import templates
from hesitant._typing import AnyArray
from hesitant._words import noun, number, p_value, percent, short, shorten_in
from hesitant.base import check_in_memory
from hesitant.checks import renamed
from hesitant.report._case import MOST_BLANK, MOST_LABELLED, Case
from hesitant.report._pictures import class_css, pictures
from hesitant.report._sections import summarise
from hesitant.tables import write_atomically

# No line of prose ends between a number and its sign.
_SIGNED = re.compile(r"(?<=\d) (?=%)|(?<=\bp) (?=[<=])|(?<=\bp [<=]) ")
_TIED = "\N{NO-BREAK SPACE}"


class Report:
    """What a fit says about partly labelled data, from the verdict to how to repeat it.

    Made by :func:`make_report` or ``clf.report(X, y)``. In a notebook it shows itself.
    """

    def __init__(self, case: Case, summary: dict[str, Any]) -> None:
        self._case, self._summary, self._page = case, summary, ""

    @property
    def verdict(self) -> str:
        """The answer, in plain words."""
        found = self._summary["verdict"]
        return " ".join([found["headline"], *found["paragraphs"]])

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the pictures, as lists, numbers and strings."""
        return dict(json.loads(self.to_json()))  # what the caller changes is not the report's

    def to_json(self, indent: int | None = None) -> str:
        """Return :meth:`to_dict` as text."""
        return json.dumps(self._summary, indent=indent, allow_nan=False)

    def to_html(self) -> str:
        """Return the report as one page that needs nothing else."""
        self._page = self._page or _render(self._case, self._summary)
        return self._page

    def write_html(self, path: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write the page to a file, whole or not at all; ``force`` replaces an existing one."""
        return write_atomically(path, self.to_html(), force=force)

    def _repr_html_(self) -> str:
        # A frame of its own: neither the notebook's styles nor the page's can reach the other.
        return (
            f'<iframe srcdoc="{html.escape(self.to_html())}" title="hesitant report" '
            'sandbox="allow-scripts allow-downloads" '
            'style="width:100%;height:80vh;border:1px solid #8884;border-radius:6px"></iframe>'
        )

    def __repr__(self) -> str:
        return f"Report: {self._summary['verdict']['headline']}"


@renamed(seed="random_state")
def make_report(
    clf: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    reviewed: Any = None,
    ids: Sequence[Any] | None = None,
    rows: AnyArray | None = None,
    name: str = "data",
    n_boot: int = 0,
    random_state: Any = None,
    notes: Sequence[str] = (),
    wording: Callable[[str], str] = str,
    options: Mapping[str, Any] | None = None,
    data: Mapping[str, Any] | None = None,
    command: str | None = None,
) -> Report:
    """Report on a fitted classifier and the data it was fitted to.

    ``clf`` is a fitted MixtureClassifier or MixtureClassifierCV, and X, y, ``sample_weight`` and
    ``reviewed`` are as given to ``fit``. ``ids`` and ``rows`` are what to call the rows, and their
    numbers in the user's own table (by default from 1); ``name`` is what to call the data.
    ``n_boot`` replicates make the bootstrap test of the blanks (199 or more for a useful p-value;
    none by default), from the seed ``random_state``. ``notes`` are what else a reader should know,
    such as warnings of the fit, and ``wording`` is a function that puts notes and remarks, which
    name options of the estimator, in a reader's own words. ``options``, ``data`` and ``command``
    say how the fit was asked for, where its data came from, and what repeats it.

    Examples
    --------
    >>> from hesitant import MixtureClassifier, datasets, report
    >>> data = datasets.simulate(n=500, random_state=0)
    >>> clf = MixtureClassifier().fit(data.features, data.labels)
    >>> report.make_report(clf, data.features, data.labels)
    Report: The blanks mark the hard cases.
    """
    given = check_in_memory(getattr(clf, "model_", clf), X, y, sample_weight, reviewed)
    case = Case(clf, given, ids, rows, wording, n_boot=n_boot, random_state=random_state)
    repeat = {
        "version": hesitant.__version__,
        "python": platform.python_version(),
        "libraries": {k: version(k) for k in ("numpy", "scipy", "scikit-learn", "numba")},
        "seed": random_state,
        "options": clf.get_params(deep=False) if options is None else dict(options),
        "data": _provenance(case, name) if data is None else dict(data),
        "command": command,
    }
    return Report(case, summarise(case, name, notes, repeat))


def _provenance(case: Case, name: str) -> dict[str, Any]:
    """Describe data that came from no file, with a digest of its own numbers and labels."""
    digest = hashlib.sha256(np.ascontiguousarray(case.values, dtype="<f8").tobytes())
    names = [*case.labels.classes.tolist(), None]  # a blank's code is −1
    labels = "".join(f"{names[code]}\0" for code in case.labels.codes)
    digest.update(labels.encode("utf-8", "surrogatepass"))
    size = {"rows": case.n, "columns": len(case.features), "features": case.features}
    return {"name": name, "sha256": digest.hexdigest(), "sha256_of": "features and labels", **size}


def _render(case: Case, summary: dict[str, Any]) -> str:
    # Everything is escaped unless the template says that it is safe: names come from strangers.
    environment, names = templates("hesitant.report"), [*case.classes, *case.features]
    show: dict[str, Callable[..., str]] = {
        "text": str,
        "name": short,
        "row": lambda value: short(value, 30),
        "long": lambda value: short(value, 60),
        "parameter": lambda value: short(shorten_in(value, names), 90),
        "count": lambda value: "–" if value is None else f"{round(value):,}",
        "percent": percent,
        "chance": _chance,
        "bar": percent,
        "only bar": lambda value: "",
        "number": _typeset,
        "rough": lambda value: _typeset(value, 3),
        "p": lambda p: p_value(p).removeprefix("p ").removeprefix("= "),
        "short": short,
        "option": _option,
        "noun": noun,
        "clean": lambda text: _SIGNED.sub(_TIED, short(shorten_in(text, names), 1200)),
    }
    environment.filters |= show | {"show": lambda value, how: show[how](value)}
    script = environment.loader.get_source(environment, "page.js")[0]
    digest = hashlib.sha256(script.encode()).digest()
    return environment.get_template("report.html.j2").render(
        **summary,
        across=_across,
        lists=_lists(summary),
        css={name: class_css(h) for h, name in enumerate(case.classes)},
        pictures=pictures(case, summary["held_out"]),
        most_drawn=(MOST_LABELLED, MOST_BLANK),
        colours=len(COLORS),
        points=_points(case, summary["held_out"]["contradicted"]),
        script=script,
        script_hash=f"sha256-{base64.b64encode(digest).decode()}",
    )


def _points(case: Case, contradicted: bool) -> str:
    """Return what the page can say of the rows it draws, as JSON that ends no script."""
    told = {}
    for i in case.drawn.tolist():
        first, second = np.argsort(-case.posterior[i], kind="stable")[:2]
        words = [("row " if case.ids is None else "") + short(case.name(i), 40)]
        if not case.blank[i]:
            words.append(f"label {short(case.classes[case.labels.codes[i]])}")
        if case.unusual[i]:
            words.append("fits no class")
        elif contradicted:
            words.append(f"nearest to {short(case.classes[first])}")
        else:
            sure = ((case.classes[h], _chance(case.posterior[i, h])) for h in (first, second))
            words += [f"{short(name)} {chance}" for name, chance in sure]
        values = ((case.features[j], case.values[i, j]) for j in case.leading[:4])
        words += [f"{short(name, 20)} {_typeset(value)}" for name, value in values]
        told[i] = " · ".join(words)
    return json.dumps(told, separators=(",", ":")).replace("<", "\\u003c")


def _typeset(value: Any, digits: int = 4) -> str:
    return number(value, digits).replace("-", "−").replace("inf", "∞")


def _chance(value: float) -> str:
    return percent(min(value, 1 - 1e-9))  # however it is rounded, it is no certainty


def _across(names: Sequence[str], how: str, form: str = "{}") -> list[tuple[str, int, str]]:
    """Return a column for each name, of a record's "values"."""
    return [(form.format(short(name, 20)), k, how) for k, name in enumerate(names)]


def _lists(summary: dict[str, Any]) -> dict[str, Any]:
    """Return what tables show that the summary has in another form."""
    readers, classes = summary["readers"], summary["classes"]
    names, pairs, wrong = (readers.get(k) or [] for k in ("names", "agreement", "confusion"))
    return {
        "confusion": [
            {"label": classes[h], "values": n, "right": n[h] / sum(n) if any(n) else None}
            for h, n in enumerate(summary["held_out"].get("confusion", ()))
        ],
        "agreement": [{"reader": r, "values": line} for r, line in zip(names, pairs, strict=True)],
        "reader_confusion": [
            {"reader": name, "class": classes[h], "values": line}
            for name, matrix in zip(names, wrong, strict=False)
            for h, line in enumerate(matrix)
        ],
    }


def _option(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return short(", ".join(map(short, value)) if isinstance(value, list) else value, 300)
