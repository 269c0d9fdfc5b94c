"""`profiles/kubernetes` as far as it goes without a cluster: a dry run."""

import pytest

from tests.workflow.project import new_project


def test_a_dry_run_plans_all_jobs_from_and_to_the_shared_volume(tmp_path):
    pytest.importorskip("snakemake_executor_plugin_kubernetes")
    pytest.importorskip("snakemake_storage_plugin_fs")
    project = new_project(tmp_path)
    output = project.run("--profile", "profiles/kubernetes", "--dry-run")
    assert "output: /shared/crossmodal/results/tables/small.md (send to storage)" in output
    assert "gpu_manufacturer=nvidia" in output
    assert "gpu=1" in output
