"""What `dvc exp run -S` writes into params.yaml, by DVC's own code, changes just what it says."""

import re
import shutil

import pytest
import yaml
from dvc.exceptions import InvalidArgumentError
from dvc.utils.hydra import apply_overrides

from crossmodal.config import params, sections
from crossmodal.config.groups import based
from tests.project_params import PARAMS, PATH

WRITTEN = yaml.safe_load(PATH.read_text())
METHODS = {
    name: set(entry) - {"base", *sections.NAMES} for name, entry in WRITTEN["methods"].items()
}


@pytest.fixture
def own(tmp_path):
    """A copy of the project's params.yaml."""
    return shutil.copy(PATH, tmp_path / "params.yaml")


def jobs(read):
    return {name: read.fit_job(name) for name in read.experiments}


def changed(path, *overrides):
    """The experiments whose fit differs after overrides."""
    apply_overrides(path, list(overrides))
    read = params.Params.model_validate(yaml.safe_load(path.read_text()))
    before, after = jobs(PARAMS), jobs(read)
    assert before.keys() == after.keys()
    return {name: after[name] for name in after if after[name] != before[name]}


def test_one_leaf_of_every_method_changes_it_and_what_inherits_it_alone(own):
    leaves = {name: min(options) for name, options in METHODS.items() if options}
    values = {name: 987_000 + number for number, name in enumerate(leaves)}
    found = changed(
        own, *(f"methods.{name}.{leaf}={values[name]}" for name, leaf in leaves.items())
    )
    layers = based(WRITTEN["methods"], "methods")
    for name, spec in PARAMS.experiments.items():
        options = {}
        for address, said in layers[spec.method]:
            method = address.split(".")[1]
            options |= said | ({leaves[method]: values[method]} if method in leaves else {})
        options |= spec.options | spec.set_by_grid()
        expected = {k: v for k, v in options.items() if k not in ("base", *sections.NAMES)}
        assert found.get(name, PARAMS.fit_job(name))["options"] == expected


def test_one_leaf_of_every_group_changes_its_rows_and_no_other(own):
    rows = {
        name: next(row for row, says in group.rows.items() if says is not None)
        for name, group in PARAMS.groups.items()
        if any(says is not None for says in group.rows.values())
    }
    found = changed(
        own, *(f"+experiments.{g}.rows.{row}.options.by_{g}=true" for g, row in rows.items())
    )
    for name in PARAMS.experiments:
        said = {address for address, _ in PARAMS.layers_of(name)}
        expected = {f"by_{g}" for g, row in rows.items() if f"experiments.{g}.rows.{row}" in said}
        job = found.get(name, PARAMS.fit_job(name))
        assert {option for option in job["options"] if option.startswith("by_")} == expected


@pytest.mark.parametrize(
    ("address", "old", "new"),
    [
        ("experiments.scenes.rows.fc7_sh.options", "learning_rate: 0.001", "learning_rate: 0.002"),
        ("methods.sam", "learning_rate: 0.005", "learning_rate: 0.1234567"),
        ("datasets.wikipedia", "validation: 231", "validation: 100"),
        ("tables.scenes_ranks", "title: Scenes, ranks", "title: Ranks"),
    ],
)
def test_an_override_keeps_all_lines_but_those_of_its_own_entry(own, address, old, new):
    before = PATH.read_text()
    key, value = new.split(": ")
    apply_overrides(own, [f"{address}.{key}={value}"])
    after = own.read_text()
    start = before.index(
        f"\n  {address.split('.')[1]}:", before.index(f"\n{address.split('.')[0]}:")
    )
    place = before.index(old, start)
    stop = place + re.search(r"\n  \S", before[place:]).start()
    entry = before[start:place] + new + before[place + len(old) : stop]
    assert after.startswith(before[:start])
    assert after.endswith(before[stop:])
    assert after[start : len(after) - len(before) + stop].split() == entry.split()


def test_an_experiment_of_a_group_can_be_changed_by_its_name(own):
    found = changed(own, "+experiments.flickr8k_fc7_sh.options.epochs=3")
    assert {name: job["options"]["epochs"] for name, job in found.items()} == {"flickr8k_fc7_sh": 3}


def test_an_address_that_does_not_exist_is_refused(own):
    with pytest.raises(InvalidArgumentError):
        apply_overrides(own, ["experiments.flickr8k_fc7_sh.options.epochs=3"])
    assert own.read_text() == PATH.read_text()
