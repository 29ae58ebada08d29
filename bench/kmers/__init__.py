"""Studies of k-mer counting."""
