"""What a sublayer's output and the mixed residual copies make of the residual stream."""
