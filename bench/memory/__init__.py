"""The machine itself: limits of its memory, and layouts of buckets."""
