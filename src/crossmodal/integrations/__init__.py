"""Evaluation by third-party benchmarks."""
