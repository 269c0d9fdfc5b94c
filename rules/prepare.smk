# Published files -> items, captions, splits, media.


rule prepared:
    input:
        JOBS.all_prepared_files,


rule prepare:
    input:
        raw=ancient(JOBS.raw_files),
    output:
        files=expand("data/prepared/{{dataset}}/{file}", file=FILES),
    log:
        "logs/prepare/{dataset}.log",
    benchmark:
        "data/prepared/{dataset}/benchmark.tsv"
    conda:
        "../envs/crossmodal.yaml"
    threads: 8
    resources:
        **REQUESTS.of("prepare", "dataset"),
    params:
        spec=JOBS.prepare,
        raw=folder_of("raw"),
        folder=lambda wildcards, output: str(Path(output[0]).parent),
    shell:
        "python -m crossmodal prepare {params.spec:q} {params.folder:q}"
        " --raw {params.raw:q} 2>&1 | tee {log:q}"


rule judge:
    input:
        raw=ancient(JOBS.judged_files),
    output:
        "data/prepared/{dataset}/qrels/{qrels}.csv",
    log:
        "logs/prepare/{dataset}/{qrels}.log",
    conda:
        "../envs/crossmodal.yaml"
    resources:
        **LIGHT,
    params:
        spec=JOBS.judge,
        raw=folder_of("raw"),
    shell:
        "python -m crossmodal judge {params.spec:q} {output:q} --raw {params.raw:q} 2>&1 | tee {log:q}"
