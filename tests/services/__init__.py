"""Real servers for the tests: installed by package name, started on free ports. See README.md in this folder."""
