"""All projections of a sublayer's normed input: query latent, window KV, compressor, indexer weights."""
