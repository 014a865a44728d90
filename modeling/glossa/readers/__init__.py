"""A file of pairs to rows: tables, JSON, Parquet, PO, TMX, XLIFF, archives, URLs, Anki, OPUS, datasets of the Hub.

In: paths and the columns of the two sides. Out: raw rows (source, target, line, problem), nothing cleaned or dropped.
`translate`, `train` and `apps` read through it.
"""
