# Items and captions -> features.
#
# A feature with `jobs` is extracted in parts, which are joined.
IN_PARTS = [feature for feature in PARAMS.features if PARAMS.jobs_of(feature) > 1]


rule extracted:
    input:
        JOBS.all_features,


rule extract:
    input:
        dataset=JOBS.feature_data,
        media=ancient(JOBS.feature_shards),
        sources=JOBS.feature_sources,
        weights=ancient(JOBS.feature_weights),
    output:
        "features/{dataset}/{feature}.h5",
    log:
        "logs/extract/{dataset}/{feature}.log",
    benchmark:
        "features/{dataset}/{feature}.tsv"
    wildcard_constraints:
        feature="|".join(f for f in PARAMS.features if f not in IN_PARTS) or NONE,
    conda:
        "../envs/crossmodal.yaml"
    threads: JOBS.feature_threads
    resources:
        **REQUESTS.of("extract", "dataset", "feature"),
    params:
        spec=JOBS.extract,
        dataset=folder_of("dataset"),
        sources=folder_of("sources"),
        weights=folder_of("weights"),
    shell:
        "python -m crossmodal extract {params.spec:q} {output:q} --dataset {params.dataset:q}"
        " --features {params.sources:q} --weights {params.weights:q}"
        " --threads {threads:q} 2>&1 | tee {log:q}"


rule extract_part:
    input:
        dataset=JOBS.feature_data,
        media=ancient(JOBS.feature_shards),
        sources=JOBS.feature_sources,
        weights=ancient(JOBS.feature_weights),
    output:
        temp("features/{dataset}/{feature}.parts/{part}-of-{parts}.zip"),
    log:
        "logs/extract/{dataset}/{feature}.parts/{part}-of-{parts}.log",
    benchmark:
        "features/{dataset}/{feature}.parts/{part}-of-{parts}.tsv"
    conda:
        "../envs/crossmodal.yaml"
    threads: JOBS.feature_threads
    resources:
        **REQUESTS.of("extract_part", "dataset", "feature"),
    params:
        spec=JOBS.extract,
        code=code("crossmodal.steps.extract_part"),
        dataset=folder_of("dataset"),
        sources=folder_of("sources"),
        weights=folder_of("weights"),
    shell:
        "python -m crossmodal extract_part {params.spec:q} {output:q} --dataset {params.dataset:q}"
        " --features {params.sources:q} --weights {params.weights:q}"
        " --part {wildcards.part:q} --parts {wildcards.parts:q}"
        " --threads {threads:q} 2>&1 | tee {log:q}"


rule join_parts:
    input:
        JOBS.parts,
    output:
        "features/{dataset}/{feature}.h5",
    log:
        "logs/extract/{dataset}/{feature}.log",
    benchmark:
        "features/{dataset}/{feature}.parts/joined.tsv"
    wildcard_constraints:
        feature="|".join(IN_PARTS) or NONE,
    conda:
        "../envs/crossmodal.yaml"
    resources:
        **REQUESTS.of("join_parts", "dataset", "feature"),
    params:
        spec=JOBS.extract,
        code=code("crossmodal.steps.join_parts"),
    shell:
        "python -m crossmodal join_parts {output:q} {input:q} 2>&1 | tee {log:q}"
