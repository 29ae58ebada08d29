"""The index of the store. `holdfast-cuckoo-bench` measures it: `load` and `cpu` anywhere, `gpu` where a GPU is."""

LAYERS = ("src/structures/cuckoo",)  #: that its results measure
