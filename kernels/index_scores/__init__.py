"""The indexer's score of every compressed slot for every row."""
