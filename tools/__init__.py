"""Tools of the repository, outside the package."""
