"""Silhouettes of the ten categories as functions of the plane.

Each takes coordinates u (rightwards) and v (downwards) in [-1, 1] and returns the brightness of
the surface there: 0 outside of the silhouette, in (0, 1] inside.
"""

from collections.abc import Callable

import numpy as np

Shape = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _ball(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    square = u**2 + v**2
    return np.where(square < 1, 1 - 0.5 * square, 0)


def _cone(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    body = (v < 0.7) & (np.abs(u) < 0.85 * (v + 1) / 1.7)
    base = (u / 0.85) ** 2 + ((v - 0.7) / 0.28) ** 2 < 1
    return np.where(body | base, 0.8 - 0.2 * u, 0)


def _cross(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    arms = np.minimum(np.abs(u), np.abs(v)) < 0.3
    return (arms & (np.maximum(np.abs(u), np.abs(v)) < 0.95)).astype(float)


def _cube(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    inside = (np.abs(u) < 0.87) & (np.abs(v) + 0.577 * np.abs(u) < 1)
    top = np.abs(u) / 0.87 + np.abs(v + 0.5) / 0.5 < 1
    return np.where(inside, np.where(top, 1, np.where(u < 0, 0.75, 0.5)), 0)


def _heart(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    x, y = 1.2 * u, 0.1 - 1.2 * v
    return ((x**2 + y**2 - 1) ** 3 < x**2 * y**3).astype(float)


def _house(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    roof = (v < -0.1) & (np.abs(u) < (v + 0.95) / 0.85)
    walls = (v >= -0.1) & (v < 0.9) & (np.abs(u) < 0.7)
    door = (v > 0.3) & (np.abs(u) < 0.2)
    return np.where(walls, np.where(door, 0.3, 1), np.where(roof, 0.6, 0))


def _moon(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    return ((u**2 + v**2 < 1) & ((u - 0.5) ** 2 + v**2 > 0.6)).astype(float)


def _ring(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    radius = np.hypot(u, v)
    return ((radius > 0.55) & (radius < 1)).astype(float)


def _star(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    turn = np.arctan2(u, -v) * 5 / (2 * np.pi)
    tip = np.abs(2 * (turn % 1) - 1)  # 1 at the five tips, 0 between them
    return (np.hypot(u, v) < 0.38 + 0.62 * tip**1.5).astype(float)


def _tree(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    tiers = 2 * (v + 1)  # 0 at the top, 3 where the crown ends
    crown = (tiers < 3) & (np.abs(u) < 0.2 * np.floor(tiers) + 0.45 * (tiers % 1))
    trunk = (tiers >= 3) & (v < 1) & (np.abs(u) < 0.15)
    return np.where(crown, 1, np.where(trunk, 0.4, 0))


SHAPES: dict[str, Shape] = {
    "ball": _ball,
    "cone": _cone,
    "cross": _cross,
    "cube": _cube,
    "heart": _heart,
    "house": _house,
    "moon": _moon,
    "ring": _ring,
    "star": _star,
    "tree": _tree,
}
