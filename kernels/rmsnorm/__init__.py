"""Root-mean-square norm of each row."""
