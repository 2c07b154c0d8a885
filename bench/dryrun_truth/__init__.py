"""Dry runs against figures that others found."""
