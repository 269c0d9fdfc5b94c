"""Retrieval metrics, on NumPy alone."""
