"""The decode runtime, alone: config, weights, cache, sites, layer, model, step."""
