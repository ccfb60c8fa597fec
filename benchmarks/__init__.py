"""Benchmarks: each prints ratios measured in one run. ``python -m benchmarks`` runs all."""

import os

# Small fits do without compiled code where there is none yet; here it is to be compared.
os.environ.setdefault("HESITANT_COMPILE", "always")
