"""A finished run to the Hub: model card, files, Space, one commit."""
