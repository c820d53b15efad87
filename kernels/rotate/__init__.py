"""Rotary position embedding of the last channels, with the cache format's codec behind it."""
