"""Simulation kernels: plain functions, compiled for the CPU and for CUDA from one source."""
