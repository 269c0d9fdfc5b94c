"""Tables, figures and pages made of metrics."""
