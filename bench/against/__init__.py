"""A commit against the baseline: the benchmarks of both, alternating in one run (scripts/against-baseline).

ratios.py  what the rates of a row say: ratio, interval, verdict
sides.py   the source and the build of each side
runs.py    what is run on a machine, and the rates that it gives
"""
