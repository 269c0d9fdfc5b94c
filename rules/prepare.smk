# Published files -> items, captions, splits, media.


rule prepare:
    input:
        [f"data/prepared/{d}/{name}" for d in DATASETS for name in FILES],


rule prepare_dataset:
    input:
        ancient(lambda wc: raw_files(wc.dataset)),
    output:
        files=expand("data/prepared/{{dataset}}/{file}", file=FILES),
    log:
        "logs/prepare/{dataset}.log",
    conda:
        "../envs/crossmodal.yaml"
    threads: 8
    resources:
        mem_mb=4000,
        runtime=600,
        gpu=0,
    params:
        spec=prepare_spec,
        raw=lambda wc: raw_folder(wc.dataset),
    shell:
        "python -m crossmodal prepare {params.spec:q} $(dirname {output.files[0]})"
        " --raw {params.raw} 2>&1 | tee {log}"
