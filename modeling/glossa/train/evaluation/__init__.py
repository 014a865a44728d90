"""Scores of a model on pairs: metrics with intervals, robustness, calibration, samples."""
