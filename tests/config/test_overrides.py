"""What `dvc exp run -S` writes into a file, by DVC's own code, changes just what it says."""

import difflib
import shutil

import pytest
import yaml
from dvc.exceptions import InvalidArgumentError
from dvc.utils.hydra import apply_overrides

from crossmodal.config import params, sections
from crossmodal.config.groups import based
from crossmodal.config.overlays import origins, read_files
from tests.project_params import CONTENT, FILES, PARAMS, PATH

ROOT = PATH.parent
METHODS = {
    name: set(entry) - {"base", *sections.NAMES} for name, entry in CONTENT["methods"].items()
}


@pytest.fixture
def own(tmp_path):
    """A folder with copies of the project's files."""
    shutil.copytree(ROOT / "experiments", tmp_path / "experiments")
    shutil.copy(PATH, tmp_path)
    return tmp_path


def jobs(read):
    return {name: read.fit(name) for name in read.experiments}


def changed(folder, overrides):
    """The experiments whose fit differs after overrides, by file."""
    for file, own in overrides.items():
        apply_overrides(folder / file, own)
    read = params.Params.model_validate(read_files([folder / "params.yaml"]))
    read._facts = PARAMS._facts
    before, after = jobs(PARAMS), jobs(read)
    assert before.keys() == after.keys()
    return {name: after[name] for name in after if after[name] != before[name]}


def test_override_changes_its_method_and_heirs_alone(own):
    leaves = {name: min(options) for name, options in METHODS.items() if options}
    values = {name: 987_000 + number for number, name in enumerate(leaves)}
    overrides = [f"methods.{name}.{leaf}={values[name]}" for name, leaf in leaves.items()]
    found = changed(own, {"params.yaml": overrides})
    layers = based(CONTENT["methods"], "methods")
    for name, spec in PARAMS.experiments.items():
        options = {**PARAMS._facts.entries[f"methods.{spec.method}"].defaults}
        for address, said in layers[spec.method]:
            method = address.split(".")[1]
            options |= said | ({leaves[method]: values[method]} if method in leaves else {})
        options |= spec.options | spec.set_by_grid()
        expected = {k: v for k, v in options.items() if k not in ("base", *sections.NAMES)}
        assert found.get(name, PARAMS.fit(name)).options == expected


def test_one_leaf_of_every_group_changes_its_rows_and_no_other(own):
    rows = {
        name: next(row for row, says in group.rows.items() if says is not None)
        for name, group in PARAMS.groups.items()
        if any(says is not None for says in group.rows.values())
    }
    origin, overrides = origins([PATH]), {}
    for group, row in rows.items():
        file = origin(f"experiments.{group}").relative_to(ROOT)
        override = f"+experiments.{group}.rows.{row}.options.by_{group}=true"
        overrides.setdefault(file, []).append(override)
    found = changed(own, overrides)
    for name in PARAMS.experiments:
        said = {address for address, _ in PARAMS.layers_of(name)}
        expected = {f"by_{g}" for g, row in rows.items() if f"experiments.{g}.rows.{row}" in said}
        job = found.get(name, PARAMS.fit(name))
        assert {option for option in job.options if option.startswith("by_")} == expected


def leaf(content, *address):
    """The first text or number of a file that is not called so already, and its address."""
    for key, value in content.items():
        if isinstance(value, dict):
            if inner := leaf(value, *address, key):
                return inner
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            return [*address, key]
    return None


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_an_override__one_line_of_its_file(own, path):
    copy, before = own / path.relative_to(ROOT), path.read_text().splitlines()
    content = yaml.safe_load(path.read_text())
    address = leaf({"experiments": content.get("experiments") or content})
    address = address if "experiments" in content else address[1:]
    apply_overrides(copy, [f"{'.'.join(address)}=other"])
    lines = difflib.unified_diff(before, copy.read_text().splitlines(), n=0, lineterm="")
    old, new = [line for line in lines if not line.startswith(("---", "+++", "@@"))]
    assert (old[0], new[0]) == ("-", "+")
    assert old[1:].lstrip().startswith(f"{address[-1]}: ") or f" {address[-1]}: " in old
    assert f"{address[-1]}: other" in new


def test_an_experiment_of_a_group_can_be_changed_by_its_name(own):
    override = "+experiments.flickr8k_fc7_sh.options.epochs=3"
    found = changed(own, {"experiments/fne.yaml": [override]})
    assert {name: job.options["epochs"] for name, job in found.items()} == {"flickr8k_fc7_sh": 3}


def test_an_address_that_does_not_exist_is_refused(own):
    path = own / "experiments/fne.yaml"
    with pytest.raises(InvalidArgumentError):
        apply_overrides(path, ["experiments.flickr8k_fc7_sh.options.epochs=3"])
    assert path.read_text() == (ROOT / "experiments/fne.yaml").read_text()
