"""The table in memory. `holdfast-dramhit-bench` measures it, `scripts/dramhit` makes result files."""

ROOMS = ("src/structures/dramhit",)  #: that its results measure
