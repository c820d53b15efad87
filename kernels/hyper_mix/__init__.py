"""The hyper-connection's coefficients of a sublayer: pre, post and the doubly normalised comb."""
