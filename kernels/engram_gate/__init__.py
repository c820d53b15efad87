"""The gated addition of an Engram value to the residual copies."""
