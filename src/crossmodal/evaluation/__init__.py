"""Metrics, controls, selection and tables."""
