"""Read sentence pairs from tables, JSON, Parquet, PO, TMX, XLIFF, archives, URLs, Anki, OPUS and Hub datasets.

Input: paths and the columns of the two sides. Output: raw rows (source, target, line, problem), neither cleaned nor
filtered. `translate`, `train` and `apps` read pairs through this package.
"""
