"""How the tables came to be, step by step; `takeup.store.migrate` runs them.

A step that adds what an older version would not write also renames something that it writes every time. The database
then refuses an older version that still runs, instead of taking rows from it that lack what was added.
"""
