import json
import os
import subprocess
import sys
from pathlib import Path

import h5py
import pytest

from crossmodal.commands.export import export
from crossmodal.errors import CrossmodalError

DIRECTIONS = ("image-to-text", "text-to-image")
FOLDER = Path("trec/toy/seed0")


@pytest.fixture
def exported(run_toy, tmp_path, monkeypatch):
    """Metrics of a run whose files are in `FOLDER`."""
    monkeypatch.chdir(tmp_path)
    metrics = json.loads(run_toy().metrics.read_text())["test"]
    export("toy/seed0", Path("trec"), 1000)
    return metrics


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_ir_measures_agrees_with_the_metrics(exported, direction):
    ir_measures = pytest.importorskip("ir_measures")
    run = [*ir_measures.read_trec_run(str(FOLDER / f"{direction}.run"))]

    def measured(qrels, *measures):
        judged = [*ir_measures.read_trec_qrels(str(FOLDER / f"{direction}.{qrels}.qrels"))]
        return ir_measures.calc_aggregate(measures, judged, run)

    ap = ir_measures.AP
    success = {k: ir_measures.Success @ k for k in (1, 5, 10)}
    assert measured("label", ap)[ap] == pytest.approx(exported[direction]["mAP"], abs=1e-6)
    recalls = measured("item", *success.values())
    for k, measure in success.items():
        assert 100 * recalls[measure] == pytest.approx(exported[direction][f"R@{k}"])


# ranx compiles for a minute what it needs a second for; its functions do the same uncompiled
RANX = """
import json, sys
import ranx
run = ranx.Run.from_file(sys.argv[1], kind="trec")
measured = {}
for name, qrels in (("map", sys.argv[2]), *((f"hit_rate@{k}", sys.argv[3]) for k in (1, 5, 10))):
    judged = ranx.Qrels.from_file(qrels, kind="trec")
    measured[name] = float(ranx.evaluate(judged, run, name))
print(json.dumps(measured))
"""


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_ranx_agrees_with_the_metrics(exported, direction):
    pytest.importorskip("ranx")
    files = [str(FOLDER / f"{direction}.{kind}") for kind in ("run", "label.qrels", "item.qrels")]
    measured = json.loads(
        subprocess.check_output(
            [sys.executable, "-c", RANX, *files], env=os.environ | {"NUMBA_DISABLE_JIT": "1"}
        )
    )
    assert measured["map"] == pytest.approx(exported[direction]["mAP"], abs=1e-6)
    for k in (1, 5, 10):
        assert 100 * measured[f"hit_rate@{k}"] == pytest.approx(exported[direction][f"R@{k}"])


def test_a_run_file_lists_each_query_to_the_depth(exported):
    export("toy", Path("short"), 3)
    lines = [
        line.split() for line in Path("short/toy/seed0/image-to-text.run").read_text().splitlines()
    ]
    assert [int(line[3]) for line in lines] == [1, 2, 3] * 24
    scores = [float(line[4]) for line in lines]
    assert all(scores[i] >= scores[i + 1] for i in range(72) if i % 3 < 2)


def test_white_space_in_ids_separates_no_columns(run_toy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with h5py.File(run_toy().embeddings, "r+") as file:
        file["test/image/ids"][0] = b"a b"
    export("toy", Path("trec"), 1)
    lines = [line.split() for line in (FOLDER / "image-to-text.run").read_text().splitlines()]
    assert {len(line) for line in lines} == {6}
    assert lines[0][0] == "a%20b"


@pytest.mark.parametrize(("name", "message"), [("no", "embeddings/no/seed0.h5"), ("a b", "named")])
def test_a_run_that_is_not_there_is_refused(tmp_path, monkeypatch, name, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CrossmodalError, match=message):
        export(name, Path("trec"), 1)
