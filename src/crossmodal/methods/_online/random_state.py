"""State of a random generator as an array, which can be stored beside others."""

import json

import numpy as np


def to_array(rng: np.random.Generator) -> np.ndarray:
    """Return the generator's state, bytes of JSON, (length,) uint8."""
    return np.frombuffer(json.dumps(rng.bit_generator.state).encode(), np.uint8).copy()


def restore(rng: np.random.Generator, state: np.ndarray) -> None:
    """Put a generator into the state that `to_array` returned."""
    rng.bit_generator.state = json.loads(state.tobytes())
