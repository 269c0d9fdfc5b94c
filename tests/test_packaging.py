import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
RULE = re.compile(r"^rule (\w+):\n(.*?)(?=^\S|\Z)", re.MULTILINE | re.DOTALL)
OTHERS = tuple(
    f"requirements-{name}.lock" for name in ("dev", "cluster", "docs", "encoders", "mteb")
)
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


def test_texts_install_no_package_of_another_name():
    # `crossmodal` on the package index is somebody else's
    files = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "pyproject.toml"]
    paths = [ROOT / name for name in files] + [*(ROOT / "docs").glob("*.md")]
    paths += [*(ROOT / "src").rglob("*.py"), *(ROOT / "envs").glob("*")]
    wrong = re.compile(r"pip install[^\n`]*?['\" ]crossmodal(?![\w-])|\bcrossmodal\[")
    assert not [str(path) for path in paths if path.is_file() and wrong.search(path.read_text())]
