# Features -> fitted methods -> embeddings.


rule trained:
    input:
        JOBS.all_embeddings,


rule train:
    input:
        dataset=JOBS.labels_and_splits,
        features=JOBS.features,
        searched=JOBS.searched,
        weights=ancient(JOBS.weights),
    output:
        model="models/{experiment}/seed{seed}/model.safetensors",
        facts="models/{experiment}/seed{seed}/model.json",
        curve="models/{experiment}/seed{seed}/curve.csv",
    log:
        "logs/train/{experiment}/seed{seed}.train.log",
    benchmark:
        "models/{experiment}/seed{seed}/benchmark.tsv"
    conda:
        "../envs/crossmodal.yaml"
    threads: REQUESTS.threads
    resources:
        **REQUESTS.of("train", "experiment"),
    params:
        spec=JOBS.train,
        dataset=folder_of("dataset"),
        features=folder_of("features"),
        weights=folder_of("weights"),
    shell:
        "start=python; if [ {resources.gpu:q} -gt 1 ];"
        " then start='python -m crossmodal.training.launcher {resources.gpu:q}'; fi;"
        " $start -m crossmodal train {params.spec:q} {output.model:q} --seed {wildcards.seed:q}"
        " --dataset {params.dataset:q} --features {params.features:q}"
        " --weights {params.weights:q} --threads {threads:q} 2>&1 | tee {log:q}"


rule embed:
    input:
        dataset=JOBS.labels_and_splits,
        features=JOBS.features,
        model=rules.train.output.model,
        facts=rules.train.output.facts,
    output:
        "embeddings/{experiment}/seed{seed}.h5",
    log:
        "logs/train/{experiment}/seed{seed}.embed.log",
    benchmark:
        "embeddings/{experiment}/seed{seed}.tsv"
    conda:
        "../envs/crossmodal.yaml"
    resources:
        **REQUESTS.of("embed", "experiment"),
    params:
        spec=JOBS.embed,
        dataset=folder_of("dataset"),
        features=folder_of("features"),
    shell:
        "python -m crossmodal embed {params.spec:q} {output:q} --model {input.model:q}"
        " --dataset {params.dataset:q} --features {params.features:q} 2>&1 | tee {log:q}"
