"""Images as input of networks: crops, random crops and prefetching."""
