"""The same numbers, however many processors there are."""

import hashlib

from tests.workflow.project import metrics

EXACT = ("features/*/*.h5", "models/*/*/model.safetensors", "models/*/*/curve.csv")


def digests(project):
    """SHA-256 of all features, models and learning curves."""
    paths = [path for pattern in EXACT for path in sorted(project.folder.glob(pattern))]
    return {
        str(path.relative_to(project.folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in paths
    }


def test_no_number_depends_on_cores_or_threads(fresh, finished, monkeypatch):
    """`finished` ran with two cores."""
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    fresh.call("snakemake", "--cores", "8", *metrics(finished))
    assert metrics(fresh) == metrics(finished)
    assert digests(fresh) == digests(finished)
    assert len(digests(finished)) == 7
