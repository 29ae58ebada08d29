"""The store on CPU threads, beside RocksDB and LMDB where these are installed. `holdfast-store-bench STUDY` measures
it, and `scripts/study-result store` makes a result file of what it prints."""

LAYERS = (
    "src/store/.",
    "src/store/cpu",
    "src/store/pipeline",
    "src/store/protocol",
    "src/structures/cuckoo",
)  #: that its results measure
