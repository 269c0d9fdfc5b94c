# Published files -> items, captions, splits, media.
#
# A dataset with `max_shard_size` has its media in shards; how many, only the job knows. So they are a
# folder, whose content `media.zip` describes: what reads the folder depends on that file.
IN_SHARDS = [dataset for dataset in PARAMS.datasets if PARAMS.shard_size_of(dataset)]


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
    wildcard_constraints:
        dataset="|".join(d for d in PARAMS.datasets if d not in IN_SHARDS) or NONE,
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


rule prepare_in_shards:
    input:
        raw=ancient(JOBS.raw_files),
    output:
        files=expand("data/prepared/{{dataset}}/{file}", file=FILES),
        media=directory("data/prepared/{dataset}/media"),
    log:
        "logs/prepare/{dataset}.log",
    benchmark:
        "data/prepared/{dataset}/benchmark.tsv"
    wildcard_constraints:
        dataset="|".join(IN_SHARDS) or NONE,
    conda:
        "../envs/crossmodal.yaml"
    threads: 8
    resources:
        **REQUESTS.of("prepare", "dataset"),
    params:
        spec=JOBS.prepare_in_shards,
        raw=folder_of("raw"),
        folder=lambda wildcards, output: str(Path(output[0]).parent),
        size=JOBS.shard_size,
    shell:
        "python -m crossmodal prepare_in_shards {params.spec:q} {params.folder:q}"
        " --raw {params.raw:q} --max-shard-size {params.size:q} 2>&1 | tee {log:q}"


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
