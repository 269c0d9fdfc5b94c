"""Output folders that are links to another disk."""

from tests.workflow.project import ONE_RUN, jobs_run, metrics

LINKED = ("data/raw", "data/prepared", "features", "models", "embeddings", "results", "logs")


def test_linked_output_folders_are_used_and_stay_links(project, tmp_path):
    before = metrics(project)
    places = [project.folder / name for name in (*LINKED, ".snakemake")]
    for place in places:
        disk = tmp_path / "disk" / place.relative_to(project.folder)
        disk.parent.mkdir(parents=True, exist_ok=True)
        place.rename(disk)
        place.symlink_to(disk)
    assert project.call("git", "status", "--short") == ""
    assert project.jobs() == {}
    params = project.params()
    params["methods"]["cca"]["dims"] = 5
    project.write_params(params)
    assert jobs_run(project.call("dvc", "repro")) == ONE_RUN
    left = project.folder / "models/cca/seed0/.unfinished-1"
    left.mkdir()
    project.call("git", "checkout", "params.yaml", "dvc.lock")
    project.call("dvc", "checkout", "--force")
    assert project.jobs() == {}
    assert metrics(project) == before
    assert not left.exists()
    assert all(place.is_symlink() for place in places)
