"""The pure core: values and decisions. No clock, socket, thread or event loop; time is an argument."""
