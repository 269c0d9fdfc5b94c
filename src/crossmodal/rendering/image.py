"""Draws a scene: background, clutter, shaded and textured things, light, sensor noise, JPEG."""

import io

import numpy as np

from crossmodal.rendering.scene import Scene
from crossmodal.rendering.shapes import SHAPES, Shape

SUPERSAMPLING = 2
OUTLINE = 1.12  # a dark rim keeps a green tree visible on a green meadow
JPEG_QUALITY = 90

RGB = {
    "red": (0.85, 0.12, 0.12),
    "orange": (0.98, 0.55, 0.1),
    "yellow": (0.97, 0.9, 0.15),
    "green": (0.15, 0.65, 0.2),
    "turquoise": (0.15, 0.8, 0.78),
    "blue": (0.15, 0.25, 0.85),
    "purple": (0.5, 0.15, 0.7),
    "pink": (0.98, 0.55, 0.75),
}
SKY_AND_GROUND = {
    "meadow": ((0.65, 0.8, 0.95), (0.4, 0.62, 0.3)),
    "desert": ((0.85, 0.85, 0.8), (0.85, 0.72, 0.5)),
    "snow": ((0.75, 0.8, 0.85), (0.93, 0.95, 0.97)),
    "night": ((0.08, 0.08, 0.2), (0.15, 0.16, 0.18)),
    "sea": ((0.7, 0.85, 0.95), (0.2, 0.42, 0.62)),
    "room": ((0.82, 0.78, 0.72), (0.5, 0.36, 0.26)),
}


def draw(scene: Scene, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return a picture of a scene; clutter, light and noise are random.

    Returns:
        RGB image (size, size, 3), uint8.
    """
    canvas = _background(scene.background, size * SUPERSAMPLING, rng)
    _clutter(canvas, int(rng.integers(5, 25)), rng)
    for thing in scene.things:
        shape, rgb = SHAPES[thing.category], np.array(RGB[thing.colour])
        place = (thing.x, thing.y, thing.angle)
        _stamp(canvas, shape, "plain", 0.15 * rgb, *place, thing.radius * OUTLINE)
        _stamp(canvas, shape, thing.texture, rgb + rng.normal(0, 0.04, 3), *place, thing.radius)
    _clutter(canvas, int(rng.integers(0, 6)), rng)
    blocks = canvas.reshape(size, SUPERSAMPLING, size, SUPERSAMPLING, 3)
    image = blocks.mean(axis=(1, 3)) * _light(size, rng)  # (size, size, 3)
    image += rng.normal(0, rng.uniform(0.01, 0.06), image.shape)
    return (255 * image.clip(0, 1)).round().astype(np.uint8)


def jpeg(image: np.ndarray) -> bytes:
    """Return the encoded image file."""
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(image).save(stream, "JPEG", quality=JPEG_QUALITY)
    return stream.getvalue()


def _background(kind: str, width: int, rng: np.random.Generator) -> np.ndarray:
    sky, ground = (np.array(rgb) + rng.normal(0, 0.03, 3) for rgb in SKY_AND_GROUND[kind])
    height = np.linspace(0, 1, width)[:, None]  # (width, 1)
    horizon = rng.uniform(0.35, 0.65)
    rows = np.where(height < horizon, sky, ground) * (0.9 + 0.2 * height)  # (width, 3)
    return np.repeat(rows[:, None], width, axis=1)  # (width, width, 3)


def _clutter(canvas: np.ndarray, count: int, rng: np.random.Generator) -> None:
    for _ in range(count):
        x, y, angle = rng.random(3)
        grey = rng.uniform(0.2, 0.8) + rng.normal(0, 0.08, 3)
        _stamp(canvas, SHAPES["ball"], "plain", grey, x, y, angle, rng.uniform(0.01, 0.035))


def _light(size: int, rng: np.random.Generator) -> np.ndarray:
    """Return factors (size, size, 3): brightness, a gradient across the image and a colour cast."""
    across = np.linspace(-1, 1, size)
    slope_x, slope_y = rng.uniform(-0.15, 0.15, 2)
    gradient = 1 + slope_x * across[None, :] + slope_y * across[:, None]
    return gradient[..., None] * rng.uniform(0.7, 1.1) * rng.normal(1, 0.05, 3)


def _stamp(
    canvas: np.ndarray,
    shape: Shape,
    texture: str,
    rgb: np.ndarray,
    x: float,
    y: float,
    angle: float,
    radius: float,
) -> None:
    """Return paint a shape over the canvas."""
    width = len(canvas)
    reach = 1.5 * radius  # the corners of a rotated shape
    left, right = (int(np.clip(edge * width, 0, width)) for edge in (x - reach, x + reach))
    top, bottom = (int(np.clip(edge * width, 0, width)) for edge in (y - reach, y + reach))
    dx = ((np.arange(left, right) + 0.5) / width - x)[None, :] / radius
    dy = ((np.arange(top, bottom) + 0.5) / width - y)[:, None] / radius
    u = np.cos(angle) * dx + np.sin(angle) * dy
    v = np.cos(angle) * dy - np.sin(angle) * dx
    brightness = shape(u, v)
    patch = canvas[top:bottom, left:right]
    inside = brightness > 0
    patch[inside] = (brightness * _pattern(texture, u, v))[inside, None] * rgb


def _pattern(texture: str, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the brightness of a texture: 1, or less where it is dark."""
    cells_u, cells_v = 2.5 * u, 2.5 * v
    if texture == "striped":
        dark = cells_u % 1 < 0.5
    elif texture == "dotted":
        dark = (cells_u % 1 - 0.5) ** 2 + (cells_v % 1 - 0.5) ** 2 < 0.09
    elif texture == "checked":
        dark = (np.floor(cells_u) + np.floor(cells_v)) % 2 == 1
    else:
        dark = np.zeros(u.shape, bool)
    return np.where(dark, 0.45, 1.0)
