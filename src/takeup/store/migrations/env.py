"""What alembic runs: the steps that are missing, in the transaction that it is given."""

from alembic import context

from takeup.store.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
