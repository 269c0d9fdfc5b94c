"""Suffixes of the files that are read, by what the files hold."""

from itertools import chain

# by the formats' names in Pillow; not PostScript, for which Pillow would run another program
PICTURES = {
    "JPEG": (".jpg", ".jpeg", ".jpe", ".jfif"),
    "PNG": (".png", ".apng"),
    "GIF": (".gif",),
    "BMP": (".bmp", ".dib"),
    "TIFF": (".tif", ".tiff"),
    "WEBP": (".webp",),
    "PPM": (".ppm", ".pgm", ".pbm", ".pnm"),
    "AVIF": (".avif",),
    "HEIF": (".heic", ".heif"),
}
SUFFIXES = {
    "image": tuple(sorted(chain(*PICTURES.values()))),
    "text": (".txt", ".caption"),
    "speech": (
        *(".aif", ".aifc", ".aiff", ".au", ".caf", ".flac", ".mp3", ".oga", ".ogg", ".opus"),
        *(".rf64", ".snd", ".sph", ".w64", ".wav"),
    ),
}
