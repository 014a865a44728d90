"""The formats of documents: one module knows one format, or one family of formats."""
