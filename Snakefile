# From raw data to tables of published next to reproduced numbers.
#
#   snakemake --cores 8 results/tables/all.md     the suite that params.yaml names
#   snakemake --cores 8 results/tables/<table>.md  one table


from pathlib import Path


configfile: "params.yaml"


for path in sorted(Path("experiments").rglob("*.yaml")):

    configfile: path


# with `--sdm apptainer`, made from envs/apptainer.def
container: "crossmodal.sif"


include: "rules/common.smk"
include: "rules/lock.smk"
include: "rules/scheduler.smk"
include: "rules/acquire.smk"
include: "rules/prepare.smk"
include: "rules/extract.smk"
include: "rules/train.smk"
include: "rules/evaluate.smk"
include: "rules/records.smk"


rule all:
    default_target: True
    input:
        "results/tables/all.md",
        "results/tables/claims.md",
