"""What the project is made of."""
