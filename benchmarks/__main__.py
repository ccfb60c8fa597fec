"""Run every benchmark, one after the other."""

from benchmarks import (
    em_iteration,
    memory,
    paper_fit,
    quasi_newton,
    scaling,
    shapes,
    skew_families,
    standard_errors,
    start_up,
)

for module in (
    paper_fit,
    quasi_newton,
    scaling,
    standard_errors,
    skew_families,
    shapes,
    start_up,
    memory,
    em_iteration,
):
    print(f"\n== {module.__name__.rpartition('.')[2]}", flush=True)
    module.main()
