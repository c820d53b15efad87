"""Which experts a row goes to, and with what weights."""
