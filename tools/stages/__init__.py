"""The stages of `tools/test`."""
