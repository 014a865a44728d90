"""A translation server with LibreTranslate's interface and a web page."""
