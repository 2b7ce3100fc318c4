"""Checks of the built site; `tools/site_check.py` runs them all."""
