"""The compressor's gated pooling of two neighbouring positions into one latent."""
