"""Slow, independent readings of snapshots, written from the contract and the format's documentation, never from the
engine."""
