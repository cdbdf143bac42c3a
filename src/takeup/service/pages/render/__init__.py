"""What pages show of trials, rendered in another process and kept for all readers."""
