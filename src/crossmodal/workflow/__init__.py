"""Jobs, code hashes, records and sharing, for the rules."""
