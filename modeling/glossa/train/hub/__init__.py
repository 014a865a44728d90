"""Publication of a finished run on the Hub: model card, files and Space."""
