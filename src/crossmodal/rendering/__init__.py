"""The world of the embedded dataset: random scenes that are drawn, described and spoken."""
