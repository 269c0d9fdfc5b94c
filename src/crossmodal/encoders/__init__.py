"""Networks that turn one modality into vectors, shared by the methods."""
