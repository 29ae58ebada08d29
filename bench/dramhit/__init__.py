"""The table in memory. `holdfast-dramhit-bench` measures it (main.cpp), `scripts/dramhit` makes result files."""

ROOMS = ("src/structures/dramhit",)  #: that its results measure
