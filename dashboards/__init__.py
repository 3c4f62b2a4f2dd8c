"""The Grafana dashboards, built from code: `python -m dashboards.build`."""
