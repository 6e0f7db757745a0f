"""The sample project: items, responses and checklists written for Concord, and labels of simulated annotators."""
