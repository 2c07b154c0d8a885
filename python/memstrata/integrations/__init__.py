"""Callbacks for trainers. Each module imports its framework, so import the one that you use:

`memstrata.integrations.lightning`, `memstrata.integrations.transformers`, `memstrata.integrations.keras`.
"""
