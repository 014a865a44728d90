"""A translation memory: approved translations in one file, found again for texts that are nearly equal."""
