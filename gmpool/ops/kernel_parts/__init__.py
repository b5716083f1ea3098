"""What the Triton kernels of several operators are made of."""
