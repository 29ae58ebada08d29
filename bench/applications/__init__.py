"""Applications over a table, on a CPU and on a GPU: embeddings of a recommendation model, and PageRank."""
