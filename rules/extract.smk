# Items and captions -> features.


rule extracted:
    input:
        JOBS.all_features,


rule extract:
    input:
        JOBS.feature_inputs,
        weights=ancient(JOBS.feature_weights),
    output:
        "features/{dataset}/{feature}.h5",
    log:
        "logs/extract/{dataset}/{feature}.log",
    benchmark:
        "features/{dataset}/{feature}.tsv"
    conda:
        "../envs/crossmodal.yaml"
    threads: JOBS.feature_threads
    resources:
        **REQUESTS.of("extract", "dataset", "feature"),
    params:
        spec=JOBS.extract,
    shell:
        "python -m crossmodal extract {params.spec:q} {output:q}"
        " --dataset data/prepared/{wildcards.dataset:q} --features features/{wildcards.dataset:q}"
        " --weights data/raw/weights --threads {threads:q} 2>&1 | tee {log:q}"
