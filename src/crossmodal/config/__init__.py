"""Content of params.yaml, the plug-ins that it names and the published numbers."""
