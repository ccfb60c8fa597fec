"""Does it help on real data: one command, ``python -m benchmarks.real``."""
