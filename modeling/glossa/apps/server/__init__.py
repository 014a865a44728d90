"""A server with LibreTranslate's interface and a page: its queue, models, limits and requests."""
