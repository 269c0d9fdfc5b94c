"""Outputs that DVC links into its cache, by each of its link types."""

import hashlib

from tests.workflow.project import ONE_RUN, Project, jobs_run, metrics


def test_links_into_the_cache_run_nothing_and_keep_it(project, tmp_path):
    # the two types by which an output is the cached file itself; all other tests have copies
    before = metrics(project)
    project.call("dvc", "remote", "add", "--default", "team", str(tmp_path / "remote"))
    project.call("dvc", "push")
    project.record()
    project.call("git", "clone", "--quiet", str(project.folder), str(tmp_path / "clone"))
    clone = Project(tmp_path / "clone")
    clone.call("dvc", "config", "cache.type", "hardlink")
    clone.call("env", "PYTHONPATH=src", "python", "-m", "crossmodal", "pull")
    params = clone.params()
    params["methods"]["sam"]["margin"] = 0.5
    clone.write_params(params)
    assert jobs_run(clone.run()) == ONE_RUN
    assert damaged(clone) == []
    assert jobs_run(clone.call("dvc", "repro")) == {}
    clone.call("dvc", "config", "cache.type", "symlink")
    clone.call("dvc", "checkout", "--relink")
    assert clone.jobs() == {}
    params["methods"]["sam"]["margin"] = 1.0
    clone.write_params(params)
    assert jobs_run(clone.call("dvc", "repro")) == ONE_RUN
    assert metrics(clone) == before
    assert clone.jobs() == {}
    assert damaged(clone) == []


def damaged(project):
    """Objects of DVC's cache that are not what their names say."""
    cached = [*(project.folder / ".dvc/cache/files/md5").glob("*/*")]
    assert len(cached) > 20
    digests = {path: hashlib.md5(path.read_bytes()).hexdigest() for path in cached}
    return [p for p in cached if digests[p] != (p.parent.name + p.name).removesuffix(".dir")]
