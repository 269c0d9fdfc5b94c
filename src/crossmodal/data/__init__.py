"""Prepared items, feature files and splits: both ends of each format in one module."""
