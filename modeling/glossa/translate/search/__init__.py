"""The search for translations with given terms, given beginnings, or without forbidden words."""
