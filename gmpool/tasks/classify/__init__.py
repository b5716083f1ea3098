"""Graph classification and regression."""
