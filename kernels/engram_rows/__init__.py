"""The gather of an Engram layer's table rows."""
