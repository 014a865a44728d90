"""Raw rows to pairs that can be trusted, split without leaks, with a report of every row that was dropped."""
