"""Benchmarks: workloads, comparisons with peers, limits of the machine; results as JSON, tables and plots.

`holdfast bench --help` lists the commands; `docs/performance.md` says how they measure.
"""
