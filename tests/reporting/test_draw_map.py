import xml.etree.ElementTree as ElementTree

import h5py
import pytest

from crossmodal.errors import CrossmodalError
from crossmodal.reporting.draw_map import draw_map
from crossmodal.workflow.report_specs import Map

SPEC = {
    "title": "CCA",
    "labels": ["category0", "category2"],
    "relevance": "category",
    "classes": [],
}


def texts(path):
    nodes = ElementTree.parse(path).iter()
    return {"".join(n.itertext()).strip() for n in nodes if n.tag.endswith("}text")}


def test_both_modalities_stand_on_the_map_by_label(run_toy, tmp_path):
    run, output = run_toy(), tmp_path / "figures" / "map.svg"
    draw_map(Map(**SPEC), output, [run.embeddings, run.data.folder / "items.csv"])
    expected = {f"{m}, category{c} only" for m in ("image", "text") for c in (0, 2)}
    assert texts(output) == expected | {"CCA"}
    with h5py.File(run.embeddings) as file:
        labels = [file["test"][m]["labels"][()][:, [0, 2]].any(axis=1) for m in ("image", "text")]
    tree = ElementTree.parse(output)
    marks = [node for node in tree.iter() if node.tag.endswith("}use")]
    assert len(marks) == sum(map(sum, labels)) + len(expected)  # and the legend's


def test_map_without_labels_has_all_single_label_items(run_toy, tmp_path):
    run, output = run_toy(), tmp_path / "map.svg"
    draw_map(
        Map(**(SPEC | {"labels": None})), output, [run.embeddings, run.data.folder / "items.csv"]
    )
    with h5py.File(run.embeddings) as file:
        labels = [file["test"][m]["labels"][()] for m in ("image", "text")]
    shown = {
        f"{m}, category{c}"
        for m, has in zip(("image", "text"), labels, strict=True)
        for c in has.argmax(axis=1)
    }
    assert texts(output) == shown | {"CCA"}
    marks = [node for node in ElementTree.parse(output).iter() if node.tag.endswith("}use")]
    assert len(marks) == sum(map(len, labels)) + len(shown)


def test_a_map_of_some_classes_names_these(run_toy, tmp_path):
    run, output = run_toy(changes={"classes": ["category1", "category2"]}), tmp_path / "map.svg"
    for labels, shown in ((None, ["category1", "category2"]), (["category2", "category1"],) * 2):
        spec = SPEC | {"labels": labels, "classes": ["category1", "category2"]}
        draw_map(Map(**spec), output, [run.embeddings, run.data.folder / "items.csv"])
        only = " only" if labels else ""
        assert texts(output) == {f"{m}, {c}{only}" for m in ("image", "text") for c in shown} | {
            "CCA"
        }


def test_an_unknown_label_is_named(run_toy, tmp_path):
    run, spec = run_toy(), SPEC | {"labels": ["bike", "category0"]}
    with pytest.raises(CrossmodalError, match=r"'bike' is unknown; known: category0"):
        draw_map(Map(**spec), tmp_path / "map.svg", [run.embeddings, run.data.folder / "items.csv"])
