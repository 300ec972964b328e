"""What is seen of a service: its objects as they were read, and what its servers say."""
