"""Attention over the window and the selected latents, with a sink in the denominator."""
