# Embeddings -> metrics -> tables.
#
# The specification of a table grows with its rows: it comes by stdin, since Linux limits each argument
# to 128 kB.


rule evaluated:
    input:
        "results/tables/all.md",
        "results/tables/claims.md",


rule evaluate:
    input:
        "embeddings/{experiment}/seed{seed}.h5",
    output:
        metrics="results/runs/{experiment}/seed{seed}.json",
        queries="results/runs/{experiment}/seed{seed}.npz",
    log:
        "logs/evaluate/{experiment}/seed{seed}.log",
    benchmark:
        "results/benchmarks/evaluate/{experiment}/seed{seed}.tsv"
    conda:
        "../envs/crossmodal.yaml"
    resources:
        **REQUESTS.of("evaluate", "experiment"),
    params:
        command="evaluate_run",
        spec=JOBS.evaluate,
    shell:
        "python -m crossmodal {params.command:q} {params.spec:q} {output.metrics:q}"
        " --embeddings {input:q} --seed {wildcards.seed:q} 2>&1 | tee {log:q}"


rule evaluate_posteriors:
    input:
        dataset=JOBS.labels_and_splits,
        features=JOBS.features,
        model=rules.train.output.model,
        facts=rules.train.output.facts,
    output:
        metrics="results/posteriors/{experiment}/seed{seed}.json",
        queries="results/posteriors/{experiment}/seed{seed}.npz",
    log:
        "logs/evaluate/{experiment}/seed{seed}.posteriors.log",
    benchmark:
        "results/benchmarks/evaluate_posteriors/{experiment}/seed{seed}.tsv"
    conda:
        "../envs/crossmodal.yaml"
    resources:
        **REQUESTS.of("evaluate_posteriors", "experiment"),
    params:
        spec=JOBS.evaluate_posteriors,
        dataset=folder_of("dataset"),
        features=folder_of("features"),
    shell:
        "python -m crossmodal evaluate_posteriors {params.spec:q} {output.metrics:q}"
        " --model {input.model:q} --dataset {params.dataset:q}"
        " --features {params.features:q} 2>&1 | tee {log:q}"


use rule evaluate as evaluate_intra_modal with:
    output:
        metrics="results/intra_modal/{experiment}/seed{seed}.json",
        queries="results/intra_modal/{experiment}/seed{seed}.npz",
    log:
        "logs/evaluate/{experiment}/seed{seed}.intra_modal.log",
    benchmark:
        "results/benchmarks/evaluate_intra_modal/{experiment}/seed{seed}.tsv"
    params:
        command="evaluate_intra_modal",
        spec=JOBS.evaluate_intra_modal,


use rule evaluate as evaluate_folds with:
    output:
        metrics="results/folds/{folds}/{experiment}/seed{seed}.json",
        queries="results/folds/{folds}/{experiment}/seed{seed}.npz",
    log:
        "logs/evaluate/{experiment}/seed{seed}.folds{folds}.log",
    benchmark:
        "results/benchmarks/evaluate_folds/{folds}/{experiment}/seed{seed}.tsv"
    params:
        command="evaluate_folds",
        spec=JOBS.evaluate_folds,


rule evaluate_qrels:
    input:
        embeddings="embeddings/{experiment}/seed{seed}.h5",
        qrels=JOBS.qrels,
        dataset=JOBS.judged_items,
    output:
        metrics="results/qrels/{table}/{qrels}/{experiment}/seed{seed}.json",
        queries="results/qrels/{table}/{qrels}/{experiment}/seed{seed}.npz",
    log:
        "logs/evaluate/{experiment}/seed{seed}.{table}.{qrels}.log",
    conda:
        "../envs/crossmodal.yaml"
    resources:
        **REQUESTS.of("evaluate", "experiment"),
    params:
        spec=JOBS.evaluate_qrels,
        dataset=folder_of("dataset"),
    shell:
        "python -m crossmodal evaluate_qrels {params.spec:q} {output.metrics:q}"
        " --embeddings {input.embeddings:q} --qrels {input.qrels:q} --seed {wildcards.seed:q}"
        " --dataset {params.dataset:q} 2>&1 | tee {log:q}"


rule show_examples:
    input:
        embeddings=JOBS.shown_embeddings,
        dataset=JOBS.shown_files,
        media=ancient(JOBS.shown_shards),
        style=local(seen(PACKAGE / "reporting/site_page/site.css")),
    output:
        "results/examples/{experiment}.html",
    log:
        "logs/evaluate/{experiment}/examples.log",
    conda:
        "../envs/crossmodal.yaml"
    resources:
        **LIGHT,
    params:
        spec=JOBS.show_examples,
        dataset=folder_of("dataset"),
    shell:
        "python -m crossmodal show_examples {params.spec:q} {output:q} {input.embeddings:q}"
        " --dataset {params.dataset:q} 2>&1 | tee {log:q}"


rule average_curves:
    input:
        runs=JOBS.runs,
        curves=JOBS.training_logs,
    output:
        learning="results/curves/learning/{experiment}.csv",
        precision="results/curves/precision_scope/{experiment}.csv",
    log:
        "logs/evaluate/{experiment}/curves.log",
    conda:
        "../envs/crossmodal.yaml"
    resources:
        **LIGHT,
    params:
        spec=JOBS.average_curves,
        models=folder_of("curves", above=3),
    shell:
        "python -m crossmodal average_curves {output:q} {input.runs:q} --models {params.models:q}"
        " 2>&1 | tee {log:q}"


rule draw:
    input:
        DRAWINGS.inputs,
    output:
        figure=figure("results/figures/{drawing}.svg"),
        points="results/figures/{drawing}.csv",
        pdf="results/figures/{drawing}.pdf",
    log:
        "logs/evaluate/figures/{drawing}.log",
    conda:
        "../envs/crossmodal.yaml"
    resources:
        **LIGHT,
    params:
        spec=DRAWINGS.draw,
    shell:
        "printf %s {params.spec:q}"
        " | python -m crossmodal draw - {output.figure:q} {output.points:q} {input:q} 2>&1 | tee {log:q}"


rule tabulate:
    input:
        runs=JOBS.table_runs,
        queries=JOBS.table_queries,
        figures=JOBS.table_figures,
        published=[
            local(seen(PACKAGE / "published" / name)) for name in ("retrieval.csv", "external.csv")
        ],
    output:
        page=table("results/tables/{table}.md", "page"),
        numbers=table("results/tables/{table}.csv", "numbers"),
        latex="results/tables/{table}.tex",
    log:
        "logs/evaluate/{table}/table.log",
    conda:
        "../envs/crossmodal.yaml"
    resources:
        **LIGHT,
    params:
        spec=JOBS.tabulate,
    shell:
        "printf %s {params.spec:q}"
        " | python -m crossmodal tabulate - {output.page:q} {output.numbers:q} {input.runs:q} 2>&1 | tee {log:q}"


rule claims:
    input:
        runs=JOBS.claim_runs,
        queries=JOBS.claim_queries,
        data=[
            local(seen(PACKAGE / "published" / name)) for name in ("claims.yaml", "retrieval.csv")
        ],
    output:
        page=report("results/tables/claims.md", caption="report/claims.rst", category="Claims"),
        numbers="results/tables/claims.csv",
        figure=report("results/figures/claims.svg", caption="report/claims.rst", category="Claims"),
        pdf="results/figures/claims.pdf",
    log:
        "logs/evaluate/claims.log",
    localrule: True
    conda:
        "../envs/crossmodal.yaml"
    params:
        spec=JOBS.claims,
    shell:
        "printf %s {params.spec:q}"
        " | python -m crossmodal claims - {output.page:q} {output.numbers:q} {output.figure:q} {input.runs:q} 2>&1 | tee {log:q}"


rule merge:
    input:
        tables=[f"results/tables/{table}.md" for table in JOBS.suite],
        numbers=[f"results/tables/{table}.csv" for table in JOBS.suite],
    output:
        page="results/tables/all.md",
        metrics="results/metrics.json",
    log:
        "logs/evaluate/all.log",
    localrule: True
    conda:
        "../envs/crossmodal.yaml"
    params:
        spec=JOBS.merge,
    shell:
        "python -m crossmodal merge {output:q} {input.tables:q} 2>&1 | tee {log:q}"


rule site:
    input:
        results=JOBS.site_inputs,
        deviations=local(seen(folder() / "docs/deviations.md")),
        page=[local(seen(path)) for path in sorted(PACKAGE.glob("reporting/site_page/*.*"))],
    output:
        "results/site/index.html",
    log:
        "logs/evaluate/site.log",
    localrule: True
    conda:
        "../envs/crossmodal.yaml"
    params:
        spec=JOBS.site,
    shell:
        "printf %s {params.spec:q}"
        " | python -m crossmodal site - {output:q} {input.deviations:q} 2>&1 | tee {log:q}"
