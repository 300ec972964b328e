"""What one version of an operator owns is handed over to the next."""
