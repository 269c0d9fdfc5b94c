"""Outputs that DVC links into its cache, by each of its link types."""

import hashlib

from tests.workflow.project import FIT, ONE_RUN, REST, jobs_run, metrics


def test_links_into_the_cache_run_nothing_and_keep_it(project):
    # the two types by which an output is the cached file itself; all other tests have copies
    before = metrics(project)
    model = project.folder / "models/cca/seed0/model.safetensors"
    link(project, "hardlink")
    assert model.stat().st_nlink == 2
    assert project.jobs() == {}
    set_dims(project, 5)
    assert jobs_run(project.call("dvc", "repro", "train")) == FIT
    assert damaged(project) == []
    link(project, "symlink")
    assert model.is_symlink()
    assert project.jobs() == REST
    set_dims(project, 10)
    assert jobs_run(project.run()) == ONE_RUN
    assert metrics(project) == before
    assert project.jobs() == {}
    assert damaged(project) == []


def link(project, kind):
    """Link all outputs anew."""
    project.call("dvc", "config", "cache.type", kind)
    project.call("dvc", "checkout", "--relink")


def set_dims(project, dims):
    params = project.params()
    params["methods"]["cca"]["dims"] = dims
    project.write_params(params)


def damaged(project):
    """Objects of DVC's cache that are not what their names say."""
    cached = [*(project.folder / ".dvc/cache/files/md5").glob("*/*")]
    assert len(cached) > 20
    digests = {path: hashlib.md5(path.read_bytes()).hexdigest() for path in cached}
    return [p for p in cached if digests[p] != (p.parent.name + p.name).removesuffix(".dir")]
