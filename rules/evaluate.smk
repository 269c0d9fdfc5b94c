# Embeddings -> metrics -> tables.


rule evaluate:
    input:
        "results/tables/all.md",


rule metrics:
    input:
        "embeddings/{experiment}/seed{seed}.h5",
    output:
        "results/runs/{experiment}/seed{seed}.json",
    log:
        "logs/evaluate/{experiment}/seed{seed}.log",
    conda:
        "../envs/crossmodal.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=60,
        gpu=0,
    params:
        spec=evaluate_spec,
    shell:
        "python -m crossmodal evaluate {output} --embeddings {input} --seed {wildcards.seed}"
        " 2>&1 | tee {log}"


rule within:
    input:
        "embeddings/{experiment}/seed{seed}.h5",
    output:
        "results/within/{experiment}/seed{seed}.json",
    log:
        "logs/evaluate/{experiment}/seed{seed}.within.log",
    conda:
        "../envs/crossmodal.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=60,
        gpu=0,
    params:
        spec=within_spec,
    shell:
        "python -m crossmodal within {output} --embeddings {input} --seed {wildcards.seed}"
        " 2>&1 | tee {log}"


rule examples:
    input:
        embeddings="embeddings/{experiment}/seed0.h5",
        dataset=shown_files,
    output:
        "results/examples/{experiment}.html",
    log:
        "logs/evaluate/{experiment}/examples.log",
    conda:
        "../envs/crossmodal.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
        gpu=0,
    params:
        spec=examples_spec,
        dataset=dataset_of,
    shell:
        "python -m crossmodal examples {params.spec:q} {output} --embeddings {input.embeddings}"
        " --dataset data/prepared/{params.dataset} 2>&1 | tee {log}"


rule curves:
    input:
        runs=experiment_runs,
        curves=experiment_curves,
    output:
        learning="results/curves/learning/{experiment}.csv",
        precision="results/curves/precision_scope/{experiment}.csv",
    log:
        "logs/evaluate/{experiment}/curves.log",
    conda:
        "../envs/crossmodal.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=10,
        gpu=0,
    params:
        spec=lambda wc: spec("curves", None, {}),
    shell:
        "python -m crossmodal curves {output.learning} {output.precision} {input.runs}"
        " --models models 2>&1 | tee {log}"


rule figures:
    input:
        table_curves,
    output:
        learning=report(
            "results/figures/{table}/learning.svg",
            category="Figures",
            subcategory="Learning curves",
            labels={"table": "{table}"},
        ),
        precision=report(
            "results/figures/{table}/precision_scope.svg",
            category="Figures",
            subcategory="Precision-scope curves",
            labels={"table": "{table}"},
        ),
    log:
        "logs/evaluate/{table}/figures.log",
    conda:
        "../envs/crossmodal.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=10,
        gpu=0,
    params:
        spec=figures_spec,
    shell:
        "python -m crossmodal figures {params.spec:q} {output.learning} {output.precision}"
        " --curves results/curves 2>&1 | tee {log}"


rule plot:
    input:
        figure_files,
    output:
        svg=report(
            "results/figures/{figure}.svg",
            category="Figures",
            subcategory="Options and training",
            labels={"figure": "{figure}"},
        ),
        csv="results/figures/{figure}.csv",
    log:
        "logs/evaluate/{figure}.plot.log",
    conda:
        "../envs/crossmodal.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=10,
        gpu=0,
    params:
        spec=figure_spec,
    shell:
        "python -m crossmodal plot {params.spec:q} {output.svg} {input} 2>&1 | tee {log}"


rule map:
    input:
        embeddings=lambda wc: f"embeddings/{mapped(wc)}/seed0.h5",
        dataset=lambda wc: f"data/prepared/{map_dataset(wc)}/items.csv",
    output:
        report(
            "results/figures/{table}/map.svg",
            category="Figures",
            subcategory="Maps",
            labels={"table": "{table}"},
        ),
    log:
        "logs/evaluate/{table}/map.log",
    conda:
        "../envs/crossmodal.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
        gpu=0,
    params:
        spec=map_spec,
        dataset=map_dataset,
    shell:
        "python -m crossmodal map {params.spec:q} {output} --embeddings {input.embeddings}"
        " --dataset data/prepared/{params.dataset} 2>&1 | tee {log}"


rule margins:
    input:
        "models/{experiment}/seed0/curve.csv",
    output:
        report(
            "results/figures/margins/{experiment}.svg",
            category="Figures",
            subcategory="Margins",
            labels={"experiment": "{experiment}"},
        ),
    log:
        "logs/evaluate/{experiment}/margins.log",
    conda:
        "../envs/crossmodal.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=10,
        gpu=0,
    params:
        spec=margins_spec,
    shell:
        "python -m crossmodal margins {params.spec:q} {output} --curve {input}" " 2>&1 | tee {log}"


rule similarity:
    input:
        "embeddings/{experiment}/seed0.h5",
    output:
        report(
            "results/figures/similarity/{experiment}.svg",
            category="Figures",
            subcategory="Similarity of the first 100 test items",
            labels={"experiment": "{experiment}"},
        ),
    log:
        "logs/evaluate/{experiment}/similarity.log",
    conda:
        "../envs/crossmodal.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
        gpu=0,
    params:
        spec=similarity_spec,
    shell:
        "python -m crossmodal similarity {params.spec:q} {output} --embeddings {input}"
        " 2>&1 | tee {log}"


rule tabulate:
    input:
        runs=table_runs,
        figures=rules.figures.output,
        further=table_figures,
        published=local("src/crossmodal/published/retrieval.csv"),
    output:
        markdown=report(
            "results/tables/{table}.md",
            category="Tables",
            labels={"table": "{table}", "as": "page"},
        ),
        csv=report(
            "results/tables/{table}.csv",
            category="Tables",
            labels={"table": "{table}", "as": "numbers"},
        ),
    log:
        "logs/evaluate/{table}/table.log",
    conda:
        "../envs/crossmodal.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=10,
        gpu=0,
    params:
        spec=table_spec,
    shell:
        "python -m crossmodal tabulate {params.spec:q} {output.markdown} {input.runs}"
        " 2>&1 | tee {log}"


rule merge:
    input:
        tables=[f"results/tables/{table}.md" for table in SUITE],
        numbers=[f"results/tables/{table}.csv" for table in SUITE],
    output:
        page="results/tables/all.md",
        metrics="results/metrics.json",
    log:
        "logs/evaluate/all.log",
    localrule: True
    conda:
        "../envs/crossmodal.yaml"
    threads: 1
    resources:
        mem_mb=100,
        runtime=1,
        gpu=0,
    params:
        spec=lambda wc: spec("merge", None, {}),
    shell:
        "python -m crossmodal merge {output.page} {output.metrics} {input.tables} 2>&1 | tee {log}"
