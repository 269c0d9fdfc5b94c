"""The steps of the pipeline: what each rule of the workflow runs."""
