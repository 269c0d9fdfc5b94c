"""Datasets: one file each, from the official archives to items, captions, labels and splits."""
