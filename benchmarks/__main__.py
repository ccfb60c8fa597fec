"""Run every benchmark, one after the other."""

from benchmarks import em_iteration, memory, paper_fit, scaling, start_up

for module in (paper_fit, em_iteration, scaling, memory, start_up):
    print(f"\n== {module.__name__.rpartition('.')[2]}", flush=True)
    module.main()
