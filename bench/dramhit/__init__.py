"""The table in memory. `holdfast-dramhit-bench` measures it, `scripts/dramhit` makes result files."""

LAYERS = ("src/structures/dramhit",)  #: that its results measure
