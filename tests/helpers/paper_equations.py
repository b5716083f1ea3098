"""The paper's equations, loop by loop in float64: the specification that GMT is tested against.

Nothing here is shared with the package but the parameters. Rows are numpy vectors; a graph is a
dense matrix A with A[i, j] the weight of the edge j -> i.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import torch
from graphs import Batch

Vectors = list[np.ndarray]
TOLERANCE = 1e-10  # of what is to agree
BLOCK_OPTIONS = [
    {"num_heads": h, "softmax": s, "layer_norm": n, "scale": c, "residual": r, "out_projection": o}
    for h, s, n, c, r, o in product(
        (1, 2),
        ("seeds", "nodes"),
        (False, True),
        ("width", "head", "none"),
        ("projected", "query"),
        (False, True),
    )
]


def shake(module: torch.nn.Module) -> torch.nn.Module:
    """Random parameters everywhere: zero biases and unit norms would hide mistakes."""
    with torch.no_grad():
        for p in module.parameters():
            p.normal_(0, 0.5)
    return module.double()


def graphs_of(batch: Batch) -> list[tuple[Vectors, np.ndarray]]:
    alone = [batch.alone(b) for b in range(batch.size)]
    return [(list(arr(g.x)), g.dense()) for g in alone]


def arr(t: Any) -> np.ndarray:
    return t.detach().double().numpy()


def linear(x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
    out = np.array([float(np.dot(w, x)) for w in weight])
    return out if bias is None else out + bias


def gcn_matrix(A: np.ndarray, add_loops: bool) -> np.ndarray:
    """D^-1/2 Ã D^-1/2. A sparse graph's own loop replaces the 1 that is added otherwise; a coarse
    graph's diagonal is the weight inside a cluster, and the 1 is added to it."""
    n = len(A)
    tilde = A.copy()
    for i in range(n):
        if add_loops:
            tilde[i, i] += 1.0
        elif tilde[i, i] == 0.0:
            tilde[i, i] = 1.0
    degree = [sum(tilde[i, j] for j in range(n)) for i in range(n)]
    hat = np.zeros_like(tilde)
    for i in range(n):
        for j in range(n):
            hat[i, j] = tilde[i, j] / np.sqrt(degree[i] * degree[j])
    return hat


def mix(matrix: np.ndarray, rows: Vectors) -> Vectors:
    return [sum(matrix[i, j] * rows[j] for j in range(len(rows))) for i in range(len(rows))]


def convolve(conv: Any, rows: Vectors, A: np.ndarray, coarse: bool) -> Vectors:
    """GNN^K or GNN^V of equation 6."""
    kind = type(conv).__name__
    if kind == "IdentityConv":
        return [linear(x, arr(conv.weight), arr(conv.bias)) for x in rows]
    if kind == "GCNConv":
        mixed = mix(gcn_matrix(A, add_loops=coarse), rows)
        return [linear(x, arr(conv.weight), arr(conv.bias)) for x in mixed]
    assert kind == "GINConv"
    first, _, second = conv.mlp
    out = []
    for x, neighbours in zip(rows, mix(A, rows), strict=True):
        hidden = linear((1 + conv.eps) * x + neighbours, arr(first.weight), arr(first.bias))
        out.append(linear(np.maximum(hidden, 0.0), arr(second.weight), arr(second.bias)))
    return out


def attention(Q: Vectors, K: Vectors, factor: float, axis: str) -> np.ndarray:
    """w(Q Kᵀ) [queries, keys], normalised over the queries ("seeds") or over the keys ("nodes")."""
    s = np.array([[float(np.dot(q, k)) * factor for k in K] for q in Q]).reshape(len(Q), len(K))
    e = np.exp(s - (s.max() if s.size else 0.0))
    out = np.zeros_like(s)
    for i in range(len(Q)):
        for j in range(len(K)):
            total = sum(e[:, j]) if axis == "seeds" else sum(e[i, :])
            out[i, j] = e[i, j] / total
    return out


def multi_head(module: Any, Q: Vectors, K: Vectors, V: Vectors) -> tuple[Vectors, list[np.ndarray]]:
    """[O_1, …, O_H] W^O of equations 5 and 6, and the weights of each head."""
    dim, H = module.dim, module.num_heads
    d = dim // H
    outs = [np.zeros(dim) for _ in Q]
    weights = []
    for h in range(H):
        part = slice(h * d, (h + 1) * d)
        a = attention([q[part] for q in Q], [k[part] for k in K], module.factor, module.softmax)
        weights.append(a)
        for i in range(len(Q)):
            outs[i][part] = sum((a[i, j] * V[j][part] for j in range(len(V))), np.zeros(d))
    if module.out_projection is not None:
        outs = [linear(o, arr(module.out_projection.weight)) for o in outs]
    return outs, weights


def layer_norm(norm: Any, x: np.ndarray) -> np.ndarray:
    if type(norm).__name__ == "Identity":
        return x
    centred = x - x.mean()
    scaled = centred / np.sqrt((centred**2).mean() + norm.eps)
    return scaled * arr(norm.weight) + arr(norm.bias)


def after(module: Any, query: np.ndarray, projected: np.ndarray, out: np.ndarray) -> np.ndarray:
    """LN(Z + rFF(Z)), Z = LN(residual + O)."""
    start = query if module.residual == "query" else projected
    z = layer_norm(module.norm_in, start + out)
    feed = np.maximum(linear(z, arr(module.linear.weight), arr(module.linear.bias)), 0.0)
    return layer_norm(module.norm_out, z + feed)


def gmpool(
    block: Any, rows: Vectors, A: np.ndarray, coarse: bool = False
) -> tuple[Vectors, np.ndarray]:
    """Equation 7 for one graph: K rows, and the assignment C [n, K] averaged over heads."""
    att = block.attention
    seeds = list(arr(block.seeds))
    Q = [linear(s, arr(att.to_query.weight), arr(att.to_query.bias)) for s in seeds]
    K = convolve(att.to_key, rows, A, coarse)
    V = convolve(att.to_value, rows, A, coarse)
    outs, weights = multi_head(att, Q, K, V)
    pooled = [after(block.after, s, q, o) for s, q, o in zip(seeds, Q, outs, strict=True)]
    C = sum(w.T for w in weights) / len(weights)
    return pooled, C


def self_att(block: Any, rows: Vectors) -> Vectors:
    """Equation 8 for one graph."""
    att = block.attention
    weight, bias = arr(att.to_query_key_value.weight), arr(att.to_query_key_value.bias)
    d = att.dim
    Q, K, V = (
        [linear(x, weight[i * d : (i + 1) * d], bias[i * d : (i + 1) * d]) for x in rows]
        for i in range(3)
    )
    outs, _ = multi_head(att, Q, K, V)
    return [after(block.after, x, q, o) for x, q, o in zip(rows, Q, outs, strict=True)]


def gmt(model: Any, rows: Vectors, A: np.ndarray) -> np.ndarray:
    """Equation 10 with any sequence of blocks, for one graph."""
    coarse = False
    for block in model.blocks:
        if type(block).__name__ == "SelfAtt":
            rows = self_att(block, rows)
            continue
        rows, C = gmpool(block, rows, A, coarse)
        if model.later_adjacency == "coarsened":
            A, coarse = C.T @ A @ C, True
    (vector,) = rows
    if type(model.final).__name__ == "Identity":
        return vector
    return linear(vector, arr(model.final.weight), arr(model.final.bias))
