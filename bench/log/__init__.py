"""Logs of a GPU. `holdfast-log-bench` measures them, `scripts/gpu log` makes the result file."""

ROOMS = ("src/log",)  #: that its results measure
