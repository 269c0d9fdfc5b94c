"""Cross-modal retrieval, from raw data to tables of published next to reproduced numbers."""
