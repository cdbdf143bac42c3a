"""Specs, bodies and bytes that nobody would send by accident, and a service that has to bear them."""
