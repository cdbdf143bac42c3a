"""Anybody's table: polars, pandas, a mapping of columns or a file; its columns, labels and outcomes."""
