"""Group hashing, the schemes of its paper, and our durable table, one operation a call. `holdfast-structures-bench`
measures them, `scripts/structures` makes result files."""

LAYERS = ("src/structures/.", "src/structures/group", "src/structures/gphash")  #: that its results measure
