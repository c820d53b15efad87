"""The token embedding, copied into the residual streams."""
