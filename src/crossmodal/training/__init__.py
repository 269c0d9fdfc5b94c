"""Training by gradient descent: the loop, fine-tuning of image networks, several processes."""
