"""Side-by-side measurements: `gmpool bench NAME`."""
