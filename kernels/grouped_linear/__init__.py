"""A block-diagonal linear layer: each group of channels has a weight of its own."""
