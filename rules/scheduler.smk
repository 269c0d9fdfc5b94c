from crossmodal.io.files import unlink_shared


# Snakemake's default limit, 100 jobs a second, wakes its scheduler once more per second for each
# job that has ended (snakemake/snakemake#3744): with hundreds of jobs it takes a fifth of a
# processor. A profile's own limit stays.
onstart:
    limit = workflow.scheduling_settings.max_jobs_per_timespan
    if limit and (limit.max_jobs, limit.timespan) == (100, 1):
        workflow.scheduler.job_rate_limiter = None
    # Snakemake writes benchmarks in place, and DVC may have linked them into its cache
    for job in workflow.dag.needrun_jobs():
        if job.benchmark:
            unlink_shared(Path(job.benchmark))
