"""Datasets in small: one module each, which writes files in the layout of the published ones.

A module has

- `make(folder, rng)`: writes the files, with the quirks that the published ones have;
- `SMALL`: source of a plug-in that is the dataset with the sizes of these files, see `small`;
- `DATASETS`: options of each of its entries in params.yaml;
- `TABLE`: which entry the whole workflow is run on, with the features of each modality, what is
  relevant and the method.
"""

import colorsys
import importlib
import io
import pkgutil
import tarfile
import zipfile

import numpy as np
import soundfile
from PIL import Image

from crossmodal.config import plugins


def every():
    """All layouts by name."""
    names = [module.name for module in pkgutil.iter_modules(__path__)]
    return {name: importlib.import_module(f"{__name__}.{name}") for name in names}


def small(plugin, **constants):
    """Source of a plug-in that is `plugin` with other constants."""
    name = plugins.load("datasets", plugin).__name__
    changes = "\n".join(f"official.{key} = {value!r}" for key, value in constants.items())
    return (
        f'"""A small {plugin}."""\n\nfrom crossmodal.datasets import {plugin} as official\n\n'
        f'{changes}\n\n\nclass Small{name}(official.{name}):\n    """As published, but small."""\n'
    )


def photograph(number, of, rng, size=12):
    """A noisy JPEG whose colour tells class `number` of `of`."""
    colour = np.array(colorsys.hsv_to_rgb(number / of, 0.9, 0.8)) * 255
    pixels = np.clip(colour + rng.normal(0, 40, (size, size, 3)), 0, 255).astype(np.uint8)
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "JPEG")
    return stream.getvalue()


def sentences(number, count, rng):
    """Different captions that tell class `number`, of up to ten."""
    thing, *others = f"thing{chr(97 + number)} dog runs sea grass red ball old house".split()
    return [f"A {thing} , {' '.join(rng.choice(others, 3))} {n} ." for n in range(count)]


def clip(number, rng):
    """A noisy tone of a tenth of a second, as a wav file; its pitch tells class `number`."""
    times = np.arange(1600) / 16_000
    samples = 0.3 * np.sin(2 * np.pi * 300 * (number + 1) * times) + rng.normal(0, 0.01, 1600)
    stream = io.BytesIO()
    soundfile.write(stream, samples, 16_000, format="WAV", subtype="PCM_16")
    return stream.getvalue()


def pack(path, members):
    """Write an archive of the kind its name says: .zip, .tar or .tar.gz."""
    contents = {k: v.encode() if isinstance(v, str) else v for k, v in members.items()}
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in contents.items():
                archive.writestr(name, content)
        return
    with tarfile.open(path, "w" if path.suffix == ".tar" else "w:gz") as archive:
        for name, content in contents.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def shrink(patch, plugin, constants):
    """Give a plug-in's module other constants until the end of the test."""
    for key, value in constants.items():
        patch.setattr(f"crossmodal.datasets.{plugin}.{key}", value)


def members(path):
    """Content of each file of an archive."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    with tarfile.open(path) as archive:
        return {m.name: archive.extractfile(m).read() for m in archive.getmembers()}


def repack(path, change):
    """Write an archive again with `change` applied to its members, a dict to be altered."""
    contents = members(path)
    change(contents)
    pack(path, contents)
