"""Write docs/does-it-help.md from the last run's figures: ``python -m benchmarks.real.page``."""

import csv
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
TABLE = HERE / "results.csv"
PAGE = HERE.parent.parent / "docs" / "does-it-help.md"
OURS = "MixtureClassifierCV"
MEASURES = ("error", "log_loss", "overclaim")
# What `python -m benchmarks.real.paper` printed with the version of the table.
PAPER = (
    "over 20 samples each it keeps 91 % of the full likelihood's gain in error over the ignorance "
    "likelihood with 200 rows, 102 % with 500 and 93 % with 1,000 (of the gain in log loss 92 %, "
    "100 % and 93 %)."
)
Cells = dict[tuple[str, str], dict[str, dict[str, float]]]


def read(table: Path = TABLE) -> list[dict[str, str]]:
    with open(table, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def cells_of(rows: list[dict[str, str]]) -> Cells:
    """Return means over splits: (set, pattern) -> model -> measure."""
    values: dict[Any, Any] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for row in rows:
        for name in MEASURES:
            values[row["set"], row["pattern"]][row["model"]][name].append(float(row[name]))
    return {
        key: {m: {k: float(np.mean(v)) for k, v in of.items()} for m, of in models.items()}
        for key, models in values.items()
    }


def percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def summary(cells: Cells) -> str:
    """Return the table of models, best log loss first, with paired differences from ours."""
    models = {m for of in cells.values() for m in of}

    def column(model: str, name: str) -> np.ndarray:
        return np.array([of[model][name] for of in cells.values()])

    lines = ["| model | error | log loss | claims too much | worse than ours by (error) | "
             "(log loss) | better error than ours |", "|---|---|---|---|---|---|---|"]  # fmt: skip
    for model in sorted(models, key=lambda m: column(m, "log_loss").mean()):
        more = [column(model, k) - column(OURS, k) for k in ("error", "log_loss")]
        errors = [d.std(ddof=1) / np.sqrt(len(d)) for d in more]
        gaps = [
            f"{100 * more[0].mean():+.1f} ± {100 * errors[0]:.1f}",
            f"{more[1].mean():+.3f} ± {errors[1]:.3f}",
        ]
        if model == OURS:
            gaps, wins = ["", ""], ""
        else:
            wins = f"{np.count_nonzero(more[0] < 0)} of {len(cells)}"
        shown = f"**{model}**" if model == OURS else model
        means = [column(model, name).mean() for name in MEASURES]
        lines.append(
            f"| {shown} | {percent(means[0])} | {means[1]:.3f} | {percent(means[2])} | "
            f"{gaps[0]} | {gaps[1]} | {wins} |"
        )
    return "\n".join(lines)


def by_set(rows: list[dict[str, str]], cells: Cells) -> str:
    """Return a line for each set and pattern: ours, the ignorance likelihood, the best peer."""
    said = {(r["set"], r["pattern"]): r["diagnose"] for r in rows}
    lines = ["| set | blanks | `diagnose` beforehand | ours | ignorance, full | ignorance, tied | "
             "best other | |", "|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for key, of in cells.items():
        others = {m: v for m, v in of.items() if m != OURS}
        best = min(others, key=lambda m: others[m]["error"])
        lead = others[best]["error"] - of[OURS]["error"]
        word = "win" if lead > 0 else "tie" if lead == 0 else "loss"
        ignorance = [
            percent(of[m]["error"]) if m in of else ""
            for m in ("ignorance, full", "ignorance, tied")
        ]
        lines.append(
            f"| {key[0]} | {key[1]} | {said[key]} | {percent(of[OURS]['error'])} | "
            f"{' | '.join(ignorance)} | {percent(others[best]['error'])} ({best}) | {word} |"
        )
    return "\n".join(lines)


def hesitation(rows: list[dict[str, str]]) -> str:
    """Return a line for each model on real hesitation."""
    lines = ["| set | `diagnose` beforehand | model | error | log loss | claims too much | |",
             "|---|---|---|---|---|---|---|"]  # fmt: skip
    for r in rows:
        note = r["pattern"].removeprefix("real").removeprefix("; ")
        lines.append(
            f"| {r['set']} | {r['diagnose']} | {r['model']} | {percent(float(r['error']))} | "
            f"{float(r['log_loss']):.3f} | {percent(float(r['overclaim']))} | {note} |"
        )
    return "\n".join(lines)


def main() -> None:
    rows = read()
    known = [r for r in rows if r["kind"] == "known"]
    real = [r for r in rows if r["kind"] == "hesitation"]
    cells = cells_of(known)
    models = {r["model"] for r in known}
    cells = {key: of for key, of in cells.items() if len(of) == len(models)}
    of_r = cells_of(read(HERE / "r_tables.csv"))
    text = (HERE / "page.md").read_text(encoding="utf-8")
    filled = {
        "SETS": str(len({k[0] for k in cells})),
        "CASES": str(len(cells)),
        "SPLITS": str(len({r["split"] for r in known})),
        "DATE": max(r["date"] for r in rows),
        "VERSIONS": rows[-1]["versions"],
        "SUMMARY": summary(cells),
        "HELD_BACK": summary(cells_of(read(HERE / "held_back.csv"))),
        "R_SETS": str(len({name for name, _ in of_r})),
        "R_TABLES": summary(of_r),
        "BY_SET": by_set(known, cells),
        "HESITATION": hesitation(real) if real else "No figures yet.",
        "PAPER": PAPER,
    }
    for name, value in filled.items():
        text = text.replace(f"@{name}@", value)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
