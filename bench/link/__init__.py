"""A table on a GPU, its arrays in GPU memory. `holdfast-link-bench` (main.cu) measures it for `scripts/link-result`."""

LINK_BYTES = 55.5e9  #: a second, each way: copies over the link of the H200 machine (docs/performance.md)
