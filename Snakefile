# From raw data to tables of published next to reproduced numbers.
#
#   snakemake --cores 8 results/tables/all.md     the suite that params.yaml names
#   snakemake --cores 8 results/tables/<table>.md  one table
import sys
from pathlib import Path

# in a checkout, its own source; else the package that is installed
SOURCE = Path(workflow.current_basedir.get_path_or_uri(secret_free=True), "src")
if SOURCE.is_dir():
    sys.path.insert(0, str(SOURCE))

from crossmodal.config.overlays import own_files
from crossmodal.config.workflow_files import params_file

for path in own_files(params_file()):

    configfile: path


# with `--sdm apptainer`, made from envs/apptainer.def
container: "crossmodal.sif"


report: "rules/report/workflow.rst"


# the first rule is what is made if nothing is asked for
rule all:
    input:
        "results/tables/all.md",
        "results/tables/claims.md",


include: "rules/common.smk"
include: "rules/lock.smk"
include: "rules/scheduler.smk"
include: "rules/acquire.smk"
include: "rules/prepare.smk"
include: "rules/extract.smk"
include: "rules/train.smk"
include: "rules/evaluate.smk"
include: "rules/records.smk"
