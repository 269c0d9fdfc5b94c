"""Online learning of bilinear similarities from streams of triplets, compiled by numba."""
