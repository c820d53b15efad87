"""The weighted sum of the residual copies that a sublayer reads."""
