"""The store on CPU threads, beside RocksDB and LMDB where these are installed. `holdfast-store-bench` measures it, and
`scripts/store` makes result files."""

LAYERS = ("src/store/.", "src/store/cpu", "src/store/protocol", "src/structures/cuckoo")  #: that its results measure
