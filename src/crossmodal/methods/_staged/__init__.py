"""Networks over two paired views that are trained stage by stage."""
