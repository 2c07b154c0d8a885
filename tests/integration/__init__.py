"""Tests of the built program: `python3 -m pytest tests/integration --binary build/release/memstrata`."""
