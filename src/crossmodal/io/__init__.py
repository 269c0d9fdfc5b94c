"""Files, archives, downloads, progress and checkpoints."""
