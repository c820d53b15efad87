"""Which compressed slots each row attends to, through two levels of top-k."""
