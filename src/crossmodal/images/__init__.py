"""Convolutional networks, and their input crops."""
