"""Retrieval methods: one file each, from features to embeddings in a shared space."""
