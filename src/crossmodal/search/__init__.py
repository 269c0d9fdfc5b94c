"""Search with a fitted model: galleries, their indexes, and the page that shows them."""
