"""Recordings of the programs of examples/dryrun, and what is true of them."""
