"""The mean of the residual copies that the draft stages read."""
