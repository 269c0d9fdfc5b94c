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
        "python -m crossmodal evaluate {params.spec:q} {output} --embeddings {input}"
        " --seed {wildcards.seed} 2>&1 | tee {log}"


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
        code=lambda wc: code("crossmodal.evaluation.margins"),
        title=title_of,
    shell:
        "python -m crossmodal margins {output} --curve {input} --title {params.title:q}"
        " 2>&1 | tee {log}"


rule shared_space:
    input:
        "embeddings/{experiment}/seed0.h5",
    output:
        report(
            "results/figures/shared_space/{experiment}.svg",
            category="Figures",
            subcategory="Shared space",
            labels={"experiment": "{experiment}"},
        ),
    log:
        "logs/evaluate/{experiment}/shared_space.log",
    conda:
        "../envs/crossmodal.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=60,
        gpu=0,
    params:
        code=lambda wc: code("crossmodal.evaluation.shared_space"),
        title=title_of,
    shell:
        "python -m crossmodal shared-space {output} --embeddings {input} --title {params.title:q}"
        " 2>&1 | tee {log}"


rule similarity_matrix:
    input:
        "embeddings/{experiment}/seed0.h5",
    output:
        report(
            "results/figures/similarity_matrix/{experiment}.svg",
            category="Figures",
            subcategory="Similarity of the first 100 test items",
            labels={"experiment": "{experiment}"},
        ),
    log:
        "logs/evaluate/{experiment}/similarity_matrix.log",
    conda:
        "../envs/crossmodal.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
        gpu=0,
    params:
        code=matrix_code,
        title=title_of,
    shell:
        "python -m crossmodal similarity-matrix {output} --embeddings {input}"
        " --title {params.title:q} 2>&1 | tee {log}"


rule tabulate:
    input:
        runs=table_runs,
        figures=rules.figures.output,
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
