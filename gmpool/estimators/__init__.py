"""Graphs in scikit-learn's words: fit, predict, predict_proba, score."""

from gmpool.estimators.classifier import GraphClassifier
from gmpool.estimators.regressor import GraphRegressor

__all__ = ["GraphClassifier", "GraphRegressor"]
