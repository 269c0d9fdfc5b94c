# Features -> fitted methods -> embeddings.


rule train:
    input:
        [f"embeddings/{e}/seed{n}.h5" for e, seeds in RUNS.items() for n in seeds],


rule fit:
    input:
        dataset=split_files,
        features=lambda wc: feature_files(wc.experiment),
        weights=ancient(method_weights),
    output:
        model="models/{experiment}/seed{seed}/model.safetensors",
        facts="models/{experiment}/seed{seed}/model.json",
        curve="models/{experiment}/seed{seed}/curve.csv",
    log:
        "logs/train/{experiment}/seed{seed}.fit.log",
    conda:
        "../envs/crossmodal.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=1440,
        gpu=method_gpu,
    params:
        spec=fit_spec,
        dataset=dataset_of,
    shell:
        "python -m crossmodal train {params.spec:q} {output.model} --seed {wildcards.seed}"
        " --dataset data/prepared/{params.dataset} --features features/{params.dataset}"
        " --weights data/raw/weights 2>&1 | tee {log}"


rule embed:
    input:
        dataset=split_files,
        features=lambda wc: feature_files(wc.experiment),
        model=rules.fit.output.model,
        facts=rules.fit.output.facts,
    output:
        "embeddings/{experiment}/seed{seed}.h5",
    log:
        "logs/train/{experiment}/seed{seed}.embed.log",
    conda:
        "../envs/crossmodal.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
        gpu=method_gpu,
    params:
        spec=embed_spec,
        dataset=dataset_of,
    shell:
        "python -m crossmodal embed {params.spec:q} {output} --model {input.model}"
        " --dataset data/prepared/{params.dataset} --features features/{params.dataset}"
        " 2>&1 | tee {log}"
