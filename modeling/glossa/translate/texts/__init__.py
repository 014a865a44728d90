"""A text taken apart and put together again: its segments, spans, tags, labels, and the links of its words."""
