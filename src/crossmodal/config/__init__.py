"""What params.yaml may say, the plug-ins it names and the published numbers it points to."""
