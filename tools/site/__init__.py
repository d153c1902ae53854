"""The verdict pages of the site, made from the ledger."""
