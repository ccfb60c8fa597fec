"""All figures by name, each drawn on its own so that one that fails stops no other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from hesitant._drawing import drawing
from hesitant.studies._style import save
from hesitant.studies._summary import summarise
from hesitant.studies._workshop import DATASETS, Workshop

__all__ = ["CAPTIONS", "figures"]

Draw: TypeAlias = Callable[[Path], list[Path]]

CAPTIONS = {
    "figure_simulated_example": "One data set of the simulation. (a) All labels. (b) Labels as "
    "observed; black squares have none. Shade: entropy of the true class probabilities. Line: the "
    "true boundary.",
    "figure_simulation": "Adjusted Rand index (a, more is better) and total log loss (b, less is "
    "better) on the test set against alpha, means over replications; the insets enlarge the "
    "framed part. Bands: two Monte Carlo standard errors either way.",
    **{f"figure_data_{d}": f"The {d} data; black squares have no label." for d in DATASETS},
    **{
        f"figure_entropy_{d}": f"Entropies of the {d} data under the ignorance likelihood: "
        "densities and distribution functions of labelled and unlabelled rows, and the share "
        "labelled against the transformed entropy."
        for d in DATASETS
    },
    **{
        f"figure_full_{d}": f"What the full likelihood changes in the {d} data: the boundaries "
        "(a), and the entropies of the unlabelled rows, coloured by their class under it (b)."
        for d in DATASETS
    },
}


def figures(workshop: Workshop) -> Iterator[tuple[str, Draw]]:
    """Yield the name of each figure and the function that draws and saves it."""
    from hesitant.studies import _figure_real as real
    from hesitant.studies import _figure_simulation as simulation

    def saved(draw: Callable[[], Any], path: Path) -> list[Path]:
        with drawing():
            return save(draw(), path)

    draws: dict[str, Callable[[], Any]] = {
        "figure_simulated_example": lambda: simulation.draw_example(workshop.design.seed),
        "figure_simulation": lambda: simulation.draw_panels(
            summarise(workshop.simulation_for_figures())
        ),
    }
    views: dict[str, Callable[[str], Any]] = {
        "data": lambda dataset: real.draw_data(*workshop.main(dataset)),
        "entropy": lambda dataset: real.draw_entropy(*workshop.main(dataset)),
        "full": lambda dataset: real.draw_full(workshop.full(dataset)),
    }
    for dataset in DATASETS:
        for view, draw_view in views.items():
            draws[f"figure_{view}_{dataset}"] = partial(draw_view, dataset)
    for name, draw in draws.items():
        yield name, partial(saved, draw)
