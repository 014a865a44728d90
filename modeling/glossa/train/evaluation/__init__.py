"""Evaluation on pairs: metrics with confidence intervals, robustness, calibration and samples."""
