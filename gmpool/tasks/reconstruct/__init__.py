"""Graph reconstruction: what pooled nodes still know."""
