"""What all benchmarks share: distributions, timing, result files, bars, tables of documents, pictures, the main."""
