"""Gathers what a decision is made from."""
