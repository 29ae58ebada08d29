"""A table through the public interface, on a CPU or a GPU: operations, YCSB, beside peers; what it costs besides."""
