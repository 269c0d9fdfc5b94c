"""Fitted models as files, and what is computed from them."""
