"""Frozen networks of images, texts and speech, and their published weights."""
