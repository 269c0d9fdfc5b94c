"""Outputs in an object store, a local S3 server, instead of in the folder."""

import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from tests.workflow.project import PARAMS, SNAKEMAKE, jobs_run, kill_when, new_project

boto3 = pytest.importorskip("boto3")
pytest.importorskip("snakemake_storage_plugin_s3")

KEYS = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_DEFAULT_REGION": "us-east-1"}
STORED = ("--default-storage-provider", "s3", "--default-storage-prefix", "s3://team/runs")
TABLE, MODEL = "results/tables/small.md", "models/cca/seed0/model.safetensors"
IN_SHARDS = {"scenes": PARAMS["datasets"]["scenes"] | {"max_shard_size": "100kB"}}
RELAY = """
import asyncio, sys
async def copy(reader, writer):
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()
    writer.close()
async def connect(reader, writer):
    there, here = await asyncio.open_connection("127.0.0.1", int(sys.argv[2]))
    await asyncio.gather(copy(reader, here), copy(there, writer), return_exceptions=True)
async def main():
    async with await asyncio.start_server(connect, "127.0.0.1", int(sys.argv[1])) as server:
        await server.serve_forever()
asyncio.run(main())
"""


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextmanager
def running(*command):
    """A Python program that is killed at the end."""
    process = subprocess.Popen([sys.executable, *command], stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def relay(monkeypatch):
    """Start what leads to an S3 server; while it does not run, the server is as good as dead."""
    port, inner = free_port(), free_port()
    address = f"http://127.0.0.1:{port}"
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("SNAKEMAKE_STORAGE_S3_ENDPOINT_URL", address)
    monkeypatch.setenv("SNAKEMAKE_STORAGE_S3_RETRIES", "1")
    with running("-m", "moto.server", "--port", str(inner)):
        yield lambda: running("-c", RELAY, str(port), str(inner))


def bucket():
    """The bucket of the team, once the server answers."""
    address = os.environ["SNAKEMAKE_STORAGE_S3_ENDPOINT_URL"]
    team = boto3.resource("s3", endpoint_url=address).Bucket("team")
    for _ in range(100):
        try:
            team.create()
            return team
        except Exception:
            time.sleep(0.1)
    raise AssertionError("the server does not answer")


def stored(path):
    """Whether the bucket has an output."""
    return any(entry.key == f"runs/{path}" for entry in bucket().objects.filter(Prefix="runs/"))


@pytest.mark.long
def test_outputs_in_a_bucket_survive_kills_of_jobs_and_server(tmp_path, relay):
    project = new_project(tmp_path / "project", seeds=1, datasets=IN_SHARDS)
    command = (*SNAKEMAKE, *STORED, "--", TABLE)
    with relay():
        kill_when(project, lambda _: stored("features/scenes/fc7.h5"), *command)
        assert stored("data/prepared/scenes/media/media-00005.zip")
    with relay() as server:
        process = project.start(*command)
        while not stored(MODEL):
            assert process.poll() is None, process.communicate()[0]
            time.sleep(0.1)
        server.kill()
        output, _ = process.communicate()
        assert process.returncode, output
        assert "prepare" not in jobs_run(output)
        assert "Could not connect to the endpoint" in output
    with relay():
        output = project.call(*command)
        assert not {"prepare", "extract"} & jobs_run(output).keys()
        assert "Nothing to be done" in project.call(*command)
        bucket().download_file(f"runs/{MODEL}", str(tmp_path / "stored"))
    project.run(MODEL)
    assert (project.folder / MODEL).read_bytes() == (tmp_path / "stored").read_bytes()


def test_what_no_licence_opens_is_not_uploaded(tmp_path, relay):
    project = new_project(tmp_path / "project", seeds=1)
    page = "results/examples/cca.html"
    with relay():
        bucket()
        output = project.run(*STORED, "--", page, fails=True)
    assert page in output
    assert "`private_storage: true`" in output


@pytest.mark.parametrize("profile", ["aws-batch", "google-batch"])
def test_a_dry_run_plans_all_jobs_from_and_to_the_bucket(tmp_path, relay, monkeypatch, profile):
    pytest.importorskip(
        f"snakemake_executor_plugin_{profile.replace('e-b', 'eb').replace('-', '_')}"
    )
    for name in ("AWS_BATCH_JOB_QUEUE", "AWS_BATCH_JOB_ROLE"):
        monkeypatch.setenv(f"SNAKEMAKE_{name}", "arn")
    for name in ("PROJECT", "REGION"):
        monkeypatch.setenv(f"SNAKEMAKE_GOOGLEBATCH_{name}", "mine")
    project = new_project(tmp_path / "project", seeds=1)
    address = ("--storage-s3-endpoint-url", os.environ["SNAKEMAKE_STORAGE_S3_ENDPOINT_URL"])
    options = ("--profile", f"profiles/{profile}", "--container-image", "image", *STORED[2:])
    with relay():
        bucket()
        output = project.run(*options, *address, "--dry-run")
    assert f"output: s3://team/runs/{TABLE} (send to storage)" in output
