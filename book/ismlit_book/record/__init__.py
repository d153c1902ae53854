"""The record: claims, the evidence for each, and the checks that reach a verdict."""
