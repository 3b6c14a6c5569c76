"""One suite for all backends: what a job is promised, wherever it runs."""
