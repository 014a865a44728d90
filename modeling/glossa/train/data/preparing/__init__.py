"""Any number of raw rows to Parquet files of clean, split pairs, in stages that can be continued."""
