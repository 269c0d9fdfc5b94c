"""Commands for people: describe, check, search, plan and others; no rule runs them."""
