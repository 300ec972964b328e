"""Gathers what decisions are made from; reads only."""
