"""A linear layer: rows times one weight."""
