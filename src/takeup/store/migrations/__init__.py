"""How the tables came to be, step by step; `takeup.store.migrate` runs them."""
