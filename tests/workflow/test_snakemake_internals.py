import inspect
import re
import sys
from types import SimpleNamespace

import pytest
import snakemake.api as _  # noqa: F401  before snakemake.workflow, which imports it in a circle
from snakemake.dag import DAG
from snakemake.modules import WorkflowModifier
from snakemake.persistence import MetadataRecord, PersistenceBase
from snakemake.scheduling.job_scheduler import JobScheduler
from snakemake.settings.enums import PersistenceBackend
from snakemake.settings.types import (
    ExecutionSettings,
    MaxJobsPerTimespan,
    SchedulingSettings,
    StorageSettings,
    WorkflowSettings,
)
from snakemake.workflow import Workflow

from crossmodal.errors import CrossmodalError
from crossmodal.workflow import snakemake_internals
from crossmodal.workflow.carrier import Record

NAMES = {
    Workflow: (
        "overwrite_configfiles",
        "workflow_settings",
        "scheduling_settings",
        "storage_settings",
        "execution_settings",
        "dag",
        "modifier",
    ),
    WorkflowModifier: ("is_main_snakefile",),
    DAG: ("needrun_jobs", "jobs", "finished_jobs", "targetjobs"),
    JobScheduler: ("failed", "job_rate_limiter"),
    WorkflowSettings: ("persistence_backend",),
    SchedulingSettings: ("max_jobs_per_timespan",),
    ExecutionSettings: ("lock",),
    StorageSettings: ("default_storage_provider",),
    PersistenceBase: ("_serialize_param_pandas", "_serialize_param_builtin"),
}
PANDAS = "_serialize_param_pandas"


@pytest.mark.parametrize(("owner", "name"), [(o, n) for o, names in NAMES.items() for n in names])
def test_private_names_exist(owner, name):
    source = inspect.getsource(owner)
    assert re.search(rf"\bself\.{name} = |def {name}\(|^    {name}: ", source, re.MULTILINE)


def test_every_private_name_is_listed():
    used = inspect.getsource(snakemake_internals)
    listed = {name for names in NAMES.values() for name in names}
    attributes = set(re.findall(r"(?:workflow|dag|scheduler|modifier|\w+_settings)\.(\w+)", used))
    assert attributes - {"scheduler", "persistence", "com"} <= listed


def test_record_format_is_the_one_that_is_written():
    assert snakemake_internals.record_format() == 6


def test_every_value_of_a_record_has_the_type_of_snakemakes():
    assert Record.model_fields.keys() == MetadataRecord.model_fields.keys()


def test_parameters_are_compared_without_pandas(monkeypatch):
    monkeypatch.setattr(PersistenceBase, PANDAS, getattr(PersistenceBase, PANDAS))  # put back
    monkeypatch.setitem(sys.modules, "pandas", None)
    snakemake_internals.spare_pandas()
    assert getattr(PersistenceBase, PANDAS)(None, {"a": 1}) == "{'a': 1}"


def test_records_in_a_database_are_refused():
    for backend in PersistenceBackend:
        workflow = SimpleNamespace(workflow_settings=WorkflowSettings(persistence_backend=backend))
        if backend.name == "FILE":
            snakemake_internals.refuse_other_backends(workflow)
            continue
        with pytest.raises(CrossmodalError, match=r"--persistence-backend db: .*leave the option"):
            snakemake_internals.refuse_other_backends(workflow)


@pytest.mark.parametrize("provider", [None, "s3"])
def test_files_are_staged_where_a_storage_has_them(provider):
    settings = StorageSettings(default_storage_provider=provider)
    workflow = SimpleNamespace(storage_settings=settings)
    assert snakemake_internals.stages_files(workflow) == (provider is not None)


@pytest.mark.parametrize(("limit", "lifted"), [("100/1s", True), ("50/1s", False)])
def test_default_rate_is_lifted_alone(limit, lifted):
    settings = SimpleNamespace(max_jobs_per_timespan=MaxJobsPerTimespan.parse_choice(limit))
    scheduler = SimpleNamespace(job_rate_limiter="limiter")
    workflow = SimpleNamespace(scheduling_settings=settings, scheduler=scheduler)
    snakemake_internals.lift_default_rate(workflow)
    assert (scheduler.job_rate_limiter is None) == lifted
