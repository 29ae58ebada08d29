"""Logs of a GPU. `holdfast-log-bench` measures them, `scripts/gpu log` makes the result file."""

LAYERS = ("src/log",)  #: that its results measure
