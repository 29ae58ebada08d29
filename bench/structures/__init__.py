"""Group hashing, the schemes of its paper, and our durable table, one operation a call. `holdfast-structures-bench`
measures them, `scripts/structures` makes result files."""

LAYERS = (
    "src/structures/.",
    "src/structures/cells",
    "src/structures/gphash",
    "src/structures/group",
    "src/structures/linear",
    "src/structures/path",
    "src/structures/pfht",
)  #: that its results measure
