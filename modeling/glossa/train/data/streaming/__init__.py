"""Streaming of pairs from Parquet files, cleaned and tokenized while reading, without a copy on disk."""
