import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
RULE = re.compile(r"^rule (\w+):\n(.*?)(?=^\S|\Z)", re.MULTILINE | re.DOTALL)
OTHERS = tuple(
    f"requirements-{name}.lock"
    for name in ("dev", "cluster", "docs", "encoders", "mteb", "benchmarks")
)
ARRAYS = {".npy", ".npz", ".mat", ".h5", ".parquet", ".safetensors", ".zip", ".pt", ".pkl"}
PIN = re.compile(r"^([A-Za-z0-9_.-]+)==([^ ;]+)")


def pins(lines):
    """Pinned versions by name; a package may have one per Python version."""
    found = {}
    for match in filter(None, map(PIN.match, lines)):
        found.setdefault(match[1].lower(), set()).add(match[2])
    return found


def read_pins(name):
    return pins((ROOT / name).read_text().splitlines())


@pytest.mark.parametrize("other", OTHERS)
def test_the_other_locks_agree_with_the_lock(other):
    found = read_pins(other)
    for name, versions in read_pins("requirements.lock").items():
        assert found[name] == versions, name


def test_locks_name_no_index():
    for name in ("requirements.lock", *OTHERS):
        assert "://" not in (ROOT / name).read_text()
        assert "--" not in (ROOT / name).read_text().replace("--hash=sha256:", "")


def test_each_phase_is_a_rule_file_a_target_and_a_dvc_stage():
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
    assert list(stages) == ["acquire", "prepare", "extract", "train", "evaluate"]
    for phase, stage in stages.items():
        rules = (ROOT / f"rules/{phase}.smk").read_text()
        target = stage["cmd"].split("snakemake ")[1]
        assert f"\nrule {target}:\n    input:\n" in rules
        assert all(out[name]["persist"] for out in stage["outs"] for name in out)


def test_every_job_says_what_it_needs_of_a_machine():
    rules = [
        rule for path in (ROOT / "rules").glob("*.smk") for rule in RULE.findall(path.read_text())
    ]
    jobs = {n: body for n, body in rules if "    shell:" in body and "localrule" not in body}
    assert len(jobs) >= 10
    light = re.search(r"^LIGHT = (.*)", (ROOT / "rules/common.smk").read_text(), re.MULTILINE)[1]
    for name, body in jobs.items():
        for need in ("mem_mb", "runtime", "gpu"):
            said = f'"{need}"' in light if "**LIGHT" in body else f"  {need}=" in body
            said = said or "**REQUESTS.of(" in body  # see tests/workflow/test_requests.py
            assert said, f"{name} lacks {need}"
        assert "partition" not in body, name


def test_no_arrays_are_committed_but_values_of_kept_runs():
    if not (ROOT / ".git").exists():
        pytest.skip("no clone")
    tracked = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines()
    arrays = [name for name in tracked if Path(name).suffix in ARRAYS]
    assert [name for name in arrays if not name.startswith("docs/runs/")] == []


def test_texts_install_no_package_of_another_name():
    # `crossmodal` on the package index is somebody else's
    files = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "pyproject.toml"]
    paths = [ROOT / name for name in files] + [*(ROOT / "docs").glob("*.md")]
    paths += [*(ROOT / "src").rglob("*.py"), *(ROOT / "envs").glob("*")]
    wrong = re.compile(r"pip install[^\n`]*?['\" ]crossmodal(?![\w-])|\bcrossmodal\[")
    assert not [str(path) for path in paths if path.is_file() and wrong.search(path.read_text())]


def test_dependencies_are_ranges_with_a_lower_bound():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needs = [Requirement(need) for need in project["dependencies"]]
    assert not [need.name for need in needs if {s.operator for s in need.specifier} - {">=", "<"}]
    assert not [n.name for n in needs if ">=" not in {s.operator for s in n.specifier}]
    locked = read_pins("requirements.lock")
    for need in needs:
        assert all(map(need.specifier.contains, locked[need.name.lower().replace("_", "-")]))


def test_actions_are_pinned_by_commit():
    files = [*(ROOT / ".github").rglob("*.yml")]
    uses = [line for path in files for line in re.findall(r"uses: (\S+)", path.read_text())]
    assert len(uses) > 10
    pinned = re.compile(r"[\w-]+/[\w-]+@[0-9a-f]{40}|\./\.github/actions/\w+")
    assert not [use for use in uses if not pinned.fullmatch(use)]


def test_jobs_of_ci_call_targets_that_exist():
    targets = set(re.findall(r"^([\w./$()-]+(?: [\w-]+)*):", (ROOT / "Makefile").read_text(), re.M))
    targets = {name for line in targets for name in line.split()}
    for path in (ROOT / ".github/workflows").glob("*.yml"):
        content = yaml.safe_load(path.read_text())
        for job in content["jobs"].values():
            matrix = job.get("strategy", {}).get("matrix", {}).get("target", [])
            runs = [step["run"] for step in job["steps"] if "run" in step]
            called = [word for run in runs if run.startswith("make") for word in run.split()[1:]]
            names = {n for n in [*called, *matrix] if re.fullmatch(r"[a-z][a-z-]+", n)}
            assert names <= targets, path


def test_a_catalog_of_workflows_finds_what_it_asks_for():
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert {"mandatory-flags", "software-stack-deployment", "report"} <= usage.keys()
    for name in ("workflow/Snakefile", "config/README.md", "config/config.yaml"):
        assert (ROOT / name).is_file()
