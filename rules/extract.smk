# Items and captions -> features.


rule extract:
    input:
        [path for experiment in RUNS for path in feature_files(experiment)],


rule extract_feature:
    input:
        dataset=prepared_files,
        sources=source_features,
        weights=ancient(network_weights),
    output:
        "features/{dataset}/{feature}.h5",
    log:
        "logs/extract/{dataset}/{feature}.log",
    conda:
        "../envs/crossmodal.yaml"
    threads: extract_threads
    resources:
        mem_mb=2000,
        runtime=600,
        gpu=extract_gpu,
    params:
        spec=extract_spec,
    shell:
        "python -m crossmodal extract {params.spec:q} {output}"
        " --dataset data/prepared/{wildcards.dataset} --features features/{wildcards.dataset}"
        " --weights data/raw/weights 2>&1 | tee {log}"
