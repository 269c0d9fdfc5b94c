"""Steps of the pipeline, one module for each rule of the workflow."""
