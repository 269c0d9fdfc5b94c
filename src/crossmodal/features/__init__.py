"""Features: one file each, from prepared items to arrays."""
