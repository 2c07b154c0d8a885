"""Makers of test data: everything that the tests read is made by these programs, never copied from elsewhere."""
