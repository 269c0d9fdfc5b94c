import csv
import io
import re
import zipfile
from pathlib import Path

import numpy as np
from PIL import Image

from tests.starts import COLOURS

ROOT = Path(__file__).parents[3]

EXAMPLE = re.compile(r"`(plugins/\S+\.py)`:\n\n```python\n(.*?)```", re.DOTALL)


def photos():
    """A zip archive of 1,000 noisy one-colour images, a folder for each colour."""
    rng = np.random.default_rng(0)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for number in range(1000):
            name, colour = list(COLOURS.items())[number % 3]
            pixels = np.clip(colour + rng.normal(0, 60, (4, 4, 3)), 0, 255).astype(np.uint8)
            image = io.BytesIO()
            Image.fromarray(pixels).save(image, "PNG")
            archive.writestr(f"{name}/{name}_{number:04d}.png", image.getvalue())
    return buffer.getvalue()


def test_the_three_plug_ins_of_the_pages_work_as_they_stand(fresh, monkeypatch):
    pages = "".join((ROOT / page).read_text() for page in ("README.md", "docs/extend.md"))
    examples = dict(EXAMPLE.findall(pages))
    assert len(examples) == 3
    for path, source in examples.items():
        (fresh.folder / path).parent.mkdir(exist_ok=True)
        (fresh.folder / path).write_text(source)
    mirror = fresh.folder / "mirror" / "my_photos"
    mirror.mkdir(parents=True)
    (mirror / "photos.zip").write_bytes(photos())
    monkeypatch.setenv("CROSSMODAL_MIRROR", str(mirror.parent))
    params = fresh.params()
    params["datasets"] = {"my_photos": {}}
    params["features"] = {"colour": {}, "bow": params["features"]["bow"]}
    params["methods"] = {"centroids": {"scale": 10.0}}
    experiment = params["experiments"]["cca"]
    experiment |= {"label": "Centroids", "dataset": "my_photos", "method": "centroids"}
    experiment["views"] = {"image": "colour", "text": "bow"}
    params["experiments"] = {"centroids": experiment}
    params["tables"]["small"]["experiments"] = ["centroids"]
    fresh.write_params(params)
    fresh.run("results/tables/small.csv")
    rows = csv.DictReader(io.StringIO(fresh.read("results/tables/small.csv")))
    reproduced = {(r["row"], r["direction"], r["metric"]): r["reproduced"] for r in rows}
    assert float(reproduced["Centroids", "average", "mAP"]) > 0.9
