"""Ways to run: an executor takes work and yields outcomes as they come."""
