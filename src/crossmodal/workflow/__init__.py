"""What the rules ask: jobs, code hashes, records and sharing."""
