"""Linear algebra that the closed-form methods share: moments, whitening, pencils, l2,1 norms."""
