"""Inference for posteriors that have no closed form."""
