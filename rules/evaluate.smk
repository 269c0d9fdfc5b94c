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


rule tabulate:
    input:
        runs=table_runs,
        published="src/crossmodal/published/retrieval.csv",
    output:
        markdown="results/tables/{table}.md",
        csv="results/tables/{table}.csv",
    log:
        "logs/evaluate/{table}.log",
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
        [f"results/tables/{table}.md" for table in SUITE],
    output:
        "results/tables/all.md",
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
    shell:
        "awk 'FNR == 1 && NR > 1 {{ print \"\" }} 1' {input} > {output} 2> {log}"
