"""Benchmarks and studies of Glossa, each repeatable with one command: `python -m benchmarks NAME`."""
