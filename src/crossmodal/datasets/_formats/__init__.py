"""Formats of others that the dataset `folder` reads, one file each."""
