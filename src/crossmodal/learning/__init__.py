"""What methods share: their base classes and training loops."""
