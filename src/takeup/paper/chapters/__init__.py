"""One module a result: how it reads, and what machines get of it."""
