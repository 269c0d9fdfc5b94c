"""Networks, layers and losses."""
