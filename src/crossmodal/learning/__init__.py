"""Base of methods: what each provides, how its result is checked and selected."""
