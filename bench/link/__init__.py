"""A table on a GPU, its arrays in GPU memory. `holdfast-link-bench` measures it, `scripts/gpu link studies` makes the
result files."""

from bench.frame import code

LAYERS = code.GPU  #: that its results measure
STUDY = "table-a"  #: whose result is called after the folder
LINK_BYTES = 55.5e9  #: a second, each way: copies over the link of the H200 machine (docs/performance.md)
