"""Preparation of any number of raw rows to Parquet files of clean, split pairs, in resumable stages."""
