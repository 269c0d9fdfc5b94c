import csv
import io
import re
import zipfile
from pathlib import Path

import numpy as np
import yaml
from PIL import Image

import crossmodal
from crossmodal.commands.init import has_encoder
from tests.project_params import CONTENT
from tests.starts import COLOURS, write_holiday

ROOT = Path(__file__).parents[3]

HOLIDAY = re.compile(r"```yaml\n(datasets:\n  holiday:.*?)```", re.DOTALL)
COMMANDS = re.compile(r"```sh\ncrossmodal (init holiday)\nsnakemake --cores 8 (.*)\n")
LOADED = re.compile(r"`(crossmodal\.load\(.*?\))` embeds")
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


def test_your_own_data_work_as_the_readme_says(fresh, monkeypatch):
    readme, page = (ROOT / "README.md").read_text(), (ROOT / "docs/extend.md").read_text()
    (holiday,) = HOLIDAY.findall(page)
    ((init, target),), (loaded,) = COMMANDS.findall(readme), LOADED.findall(readme)
    write_holiday(fresh.folder)
    fresh.write_params(CONTENT | {"seeds": 1})
    fresh.record()
    fresh.call("crossmodal", *init.split())
    texts = "sentence_item" if has_encoder() else "bow_item"  # README's are without the extra
    expected = yaml.safe_load(holiday.replace("bow_item", texts))
    assert yaml.safe_load(fresh.read("holiday.yaml")) == expected
    target = target.split()
    fresh.run(*target)
    assert "photos" not in fresh.call("git", "add", "--all", "--dry-run")
    rows = list(csv.DictReader(io.StringIO(fresh.read("results/tables/holiday.csv"))))
    reproduced = {(row["row"], row["direction"], row["metric"]): row["reproduced"] for row in rows}
    assert 0 < float(reproduced["CCA", "average", "mAP"]) <= 1
    Image.new("RGB", (32, 32)).save(fresh.folder / "new.jpg")
    monkeypatch.chdir(fresh.folder)
    model = eval(loaded, {"crossmodal": crossmodal})
    images, texts = model.embed(images=["new.jpg"]), model.embed(texts=["a red ball"])
    assert model.score(texts, images, direction=("text", "image")).shape == (1, 1)
    assert "Nothing to be done" in fresh.run(*target)
    Image.new("RGB", (32, 32)).save(fresh.folder / "holiday/photos/alps3.jpg")
    assert "rule prepare:" in fresh.run(*target, "--dry-run")
    (fresh.folder / "holiday/photos/alps3.jpg").unlink()
    output = fresh.run(*target, fails=True)
    where = "holiday/items.csv: row 4, column 'image': holiday/photos/alps3.jpg: No such file"
    assert where in output
