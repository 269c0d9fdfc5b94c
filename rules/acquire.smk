# Published files and pretrained weights, as they are.
#
# A file has no `params`: what is published does not change, and a file from elsewhere (a mirror, a
# colleague) is as good as a downloaded one, so nothing here runs again.


rule acquired:
    input:
        JOBS.all_raw_files,


rule download:
    output:
        "data/raw/{source}/{file}",
    log:
        "logs/acquire/{source}/{file}.log",
    retries: 2
    conda:
        "../envs/crossmodal.yaml"
    resources:
        mem_mb=500,
        runtime=600,
        gpu=0,
    shell:
        "python -m crossmodal download {wildcards.source:q} {output:q} 2>&1 | tee {log:q}"


rule weights:
    output:
        "data/raw/weights/{file}",
    log:
        "logs/acquire/weights/{file}.log",
    retries: 2
    conda:
        "../envs/crossmodal.yaml"
    resources:
        **LIGHT,
    shell:
        "python -m crossmodal weights {output:q} 2>&1 | tee {log:q}"
