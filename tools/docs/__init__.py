"""The pages of docs/ as a web site: `make docs`."""
