"""The routed experts of each row, summed in ascending expert order."""
