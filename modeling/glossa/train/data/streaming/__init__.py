"""Pairs of Parquet files, cleaned and encoded as they are read, without a copy on disk."""
