"""Search with a fitted model: galleries, their indexes, and the web page."""
