"""What `python -m benchmarks gpu` measures, a module for each part."""
