from crossmodal.io.files import unlink_shared


onstart:
    internals.lift_default_rate(workflow)
    # Snakemake writes benchmarks in place, and DVC may have linked them into its cache
    for job in internals.due_jobs(workflow):
        if job.benchmark:
            unlink_shared(Path(job.benchmark))
