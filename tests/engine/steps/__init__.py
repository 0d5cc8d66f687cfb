"""Tests of the steps around the work."""
