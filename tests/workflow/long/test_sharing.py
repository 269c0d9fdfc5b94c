"""What one machine made, another one uses."""

import shutil
from pathlib import Path

import pytest

from tests.workflow.project import (
    FIT,
    ONE_RUN,
    REST,
    Project,
    copied,
    jobs_of,
    jobs_run,
    metrics,
)

# all results, and the scorecard of claims, which is due where it is not there
BOTH = {**jobs_of(methods=2, runs=2), "claims": 1}
PULL = ("python", "-m", "crossmodal", "pull")


@pytest.fixture
def bucket(monkeypatch):
    """Options of a remote in an S3 bucket on this machine."""
    from moto.server import ThreadedMotoServer  # a second, which other tests need not wait for

    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    import boto3

    endpoint = f"http://{host}:{port}"
    boto3.client("s3", endpoint_url=endpoint).create_bucket(Bucket="team")
    yield "s3://team/dvc", {"endpointurl": endpoint}
    server.stop()


@pytest.fixture
def folder(tmp_path):
    return str(tmp_path / "remote"), {}


def add_remote(project, remote):
    """As `dvc remote add` and `modify` would, which take a second each."""
    url, options = remote
    lines = ["[core]", "remote = team", "['remote \"team\"']", f"url = {url}"]
    lines += [f"{name} = {value}" for name, value in options.items()]
    (project.folder / ".dvc/config").write_text("\n".join(lines) + "\n")


def clone(project, where):
    """Machine B: what git has, and nothing else."""
    project.call("git", "clone", "--quiet", str(project.folder), str(where))
    return Project(where)


def pull(project, *outputs, fails=False):
    """The documented command."""
    return project.call("env", "PYTHONPATH=src", *PULL, *outputs, fails=fails)


@pytest.fixture(scope="module")
def pushed(finished, tmp_path_factory):
    """A project whose outputs a folder has; not to be changed."""
    place = tmp_path_factory.mktemp("pushed")
    project = copied(finished.folder, place / "project")
    add_remote(project, (str(place / "remote"), {}))
    project.call("dvc", "push")
    project.record()
    return project


def check_features(colleague):
    output = pull(colleague, "data/prepared", "features")
    assert "data/prepared, features: as in dvc.lock" in output
    assert not (colleague.folder / "models").exists()
    assert colleague.jobs() == BOTH


def test_a_colleague_pulls_features_and_extracts_nothing(pushed, tmp_path):
    colleague = clone(pushed, tmp_path / "b")
    check_features(colleague)
    assert jobs_run(colleague.call("dvc", "repro")) == BOTH
    assert metrics(colleague) == metrics(pushed)
    assert colleague.jobs() == {}


def test_a_bucket_has_what_was_pushed(project, bucket, tmp_path):
    add_remote(project, bucket)
    project.call("dvc", "push", "data/prepared", "features")
    project.record()
    check_features(clone(project, tmp_path / "b"))


def test_a_new_method_is_trained_where_only_features_were_pushed(project, folder, tmp_path):
    add_remote(project, folder)
    project.call("dvc", "push", "data/prepared", "features")
    project.record()
    colleague = clone(project, tmp_path / "b")
    pull(colleague, "data/prepared", "features")
    params = colleague.params()
    params["methods"]["ridge"] = {"penalty": 1.0, "whitening": 0.0}
    params["experiments"]["ridge"] = params["experiments"]["cca"] | {"method": "ridge"}
    colleague.write_params(params)
    output = colleague.run("results/runs/ridge/seed0.json")
    assert jobs_run(output) == {"train": 1, "embed": 1, "evaluate": 1}


def test_branches_of_different_extractions_merge_as_documented(project):
    """See docs/sharing.md: one side's dvc.lock is taken, and `dvc repro` makes what it lacks."""
    params = project.params()
    params["tables"]["small"]["experiments"] = ["cca"]
    project.write_params(params)
    project.record()
    branch = project.call("git", "branch", "--show-current").strip()
    for name, feature, option, value in (
        ("words", "bow", "size", 150),
        ("lengths", "fc7", "normalise", False),
    ):
        project.call("git", "checkout", "--quiet", "-b", name, branch)
        project.call("dvc", "checkout")
        params = project.params()
        params["features"][feature][option] = value
        project.write_params(params)
        assert jobs_run(project.run("trained")) == {"extract": 1, **FIT}
        project.call("dvc", "commit", "--force")
        project.record()
    assert "CONFLICT (content): Merge conflict in dvc.lock" in project.call(
        "git", "merge", "words", fails=True
    )
    project.call("git", "checkout", "--ours", "dvc.lock")
    assert jobs_run(project.call("dvc", "repro")) == {"extract": 1, **ONE_RUN}
    project.record()
    features = project.params()["features"]
    assert (features["bow"]["size"], features["fc7"]["normalise"]) == (150, False)
    assert project.jobs() == {}
    assert "Data and pipelines are up to date" in project.call("dvc", "repro")


def test_a_full_pull_runs_nothing_in_any_order(pushed, tmp_path):
    colleague = clone(pushed, tmp_path / "b")
    for outputs in (["results"], ["embeddings", "models"], ["features", "data/prepared"], []):
        pull(colleague, *outputs)
    assert colleague.jobs() == {}
    assert jobs_run(colleague.call("dvc", "repro")) == {}


def test_two_clones_share_one_cache_at_the_same_time(project, tmp_path):
    shutil.copytree(project.folder / ".dvc/cache", tmp_path / "cache")
    clones = [clone(project, tmp_path / name) for name in "bc"]
    for one in clones:
        one.call("dvc", "config", "--local", "cache.dir", str(tmp_path / "cache"))
        one.call("dvc", "config", "--local", "cache.type", "reflink,symlink")
        params = one.params()
        params["methods"]["cca"]["dims"] = 5 if one is clones[0] else 7
        one.write_params(params)
    for one in clones:
        one.call("dvc", "checkout")
    running = [one.start("dvc", "repro", "train") for one in clones]
    for process in running:
        output, _ = process.communicate(timeout=1200)
        assert process.returncode == 0, output
        assert jobs_run(output) == FIT
    first, second = (one.folder / "models/cca/seed0/model.safetensors" for one in clones)
    assert first.read_bytes() != second.read_bytes()
    assert [one.jobs() for one in clones] == [REST, REST]


@pytest.fixture
def pulled(pushed, tmp_path):
    """A colleague who pulled everything."""
    colleague = clone(pushed, tmp_path / "b")
    pull(colleague)
    return colleague


def test_a_stale_artefact_is_made_again_or_refused(pulled):
    params = pulled.params()
    params["methods"]["sam"]["margin"] = 0.5
    pulled.write_params(params)
    assert pulled.jobs() == ONE_RUN
    pulled.call("git", "checkout", "params.yaml")
    source = pulled.folder / "src/crossmodal/methods/cca.py"
    source.write_text(source.read_text() + "\nTOUCHED = True\n")
    assert pulled.jobs() == ONE_RUN
    pulled.call("git", "checkout", "src")
    feature = pulled.folder / "features/scenes/bow.h5"
    damage(feature)
    output = pulled.run(fails=True)
    assert "features/scenes/bow.h5: changed since it was made" in output
    feature.unlink()
    assert jobs_run(pulled.run("features/scenes/bow.h5")) == {"extract": 1}


def test_a_corrupt_remote_is_refused_until_it_is_mended(pushed, folder, tmp_path):
    shutil.copytree(pushed.folder.parent / "remote", folder[0])
    feature = "features/scenes/fc7.h5"
    stored = max(Path(folder[0]).rglob("*"), key=lambda p: same(p, pushed.folder / feature))
    damage(stored)
    colleague = clone(pushed, tmp_path / "b")
    add_remote(colleague, folder)
    output = pull(colleague, "data/prepared", "features", fails=True)
    assert "fc7.h5" in output or stored.name in output
    if (colleague.folder / feature).exists():
        assert f"{feature}: changed since it was made" in colleague.run(fails=True)
        (colleague.folder / feature).unlink()
    stored.unlink()
    shutil.copy(pushed.folder / ".dvc/cache" / stored.relative_to(folder[0]), stored)
    pull(colleague, "data/prepared", "features")
    assert colleague.jobs() == BOTH


def test_an_output_that_is_not_locked_is_refused(project):
    assert "feature: not an output in dvc.lock; outputs: data/raw" in pull(
        project, "feature", fails=True
    )


def same(path, other):
    return path.is_file() and path.read_bytes() == other.read_bytes()


def damage(path):
    """Change one byte in the middle."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.chmod(0o644)
    path.write_bytes(content)
