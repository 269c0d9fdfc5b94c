"""Linear algebra of the closed-form methods: moments, whitening, eigenproblems, l2,1 norms."""
