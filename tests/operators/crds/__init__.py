"""Changes of CustomResourceDefinitions."""
