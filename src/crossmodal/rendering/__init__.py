"""Random scenes of the embedded dataset: rendered, described and spoken."""
