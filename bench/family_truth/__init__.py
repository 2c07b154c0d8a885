"""Truth for the planner, family by family: small models of transformers run on the simulated card."""
