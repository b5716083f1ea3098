"""Retrosynthesis: the Graph Logic Network with any pooling in its encoders of templates."""
