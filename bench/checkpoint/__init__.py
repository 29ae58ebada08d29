"""Checkpoints of a GPU's tensors. `holdfast-checkpoint-bench` measures them, `scripts/gpu checkpoint` makes
the result file."""

LAYERS = ("src/checkpoint",)  #: that its results measure
