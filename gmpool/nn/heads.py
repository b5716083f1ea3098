"""From graph vectors to predictions."""

from torch import nn

from gmpool.nn.clock import Dropout


def classifier(in_dim: int, hidden_dim: int, out_dim: int, *, dropout: float) -> nn.Sequential:
    """in -> hidden -> hidden/2 -> out, with ReLU and dropout between. [B, in] -> [B, out]"""
    return nn.Sequential(
        nn.Linear(in_dim, hidden_dim),
        nn.ReLU(),
        Dropout(dropout, rows_per_graph=1),
        nn.Linear(hidden_dim, hidden_dim // 2),
        nn.ReLU(),
        Dropout(dropout, rows_per_graph=1),
        nn.Linear(hidden_dim // 2, out_dim),
    )
