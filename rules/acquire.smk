# Published files and pretrained weights, as they are.
#
# A file has no `params`: what is published does not change, and a file from elsewhere (a mirror, a
# colleague) is as good as a downloaded one, so nothing here runs again.


rule acquire:
    input:
        [raw for dataset in DATASETS for raw in raw_files(dataset)],


rule download:
    output:
        "data/raw/{source}/{file}",
    log:
        "logs/acquire/{source}/{file}.log",
    retries: 2
    conda:
        "../envs/crossmodal.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=600,
        gpu=0,
    shell:
        "python -m crossmodal download {wildcards.source} {output} 2>&1 | tee {log}"


rule weights:
    output:
        "data/raw/weights/{file}",
    log:
        "logs/acquire/weights/{file}.log",
    retries: 2
    conda:
        "../envs/crossmodal.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=60,
        gpu=0,
    shell:
        "python -m crossmodal weights {output} 2>&1 | tee {log}"
