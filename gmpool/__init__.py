"""Graph multiset pooling."""
