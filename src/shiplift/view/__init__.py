"""The one read model behind command line, terminal watch and dashboard: rows in, plain values out."""
