"""Files of texts: jobs over files and folders, glossaries, where the texts of a file are."""
