"""Cleaning of raw rows to pairs, splitting without leaks, and reports of dropped rows."""
