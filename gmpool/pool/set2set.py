"""Set2Set (Vinyals, Bengio & Kudlur, 2016): a recurrent network reads the nodes by attention.

q_t = LSTM(q*_{t-1}) ;  r_t = Σ_i softmax_i(x_i · q_t) x_i ;  q*_t = [q_t, r_t]
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gmpool.graph.edges import AnyEdges
from gmpool.ops.grouped import collect, match
from gmpool.ops.segment import Segments, segment_softmax
from gmpool.options import between
from gmpool.pool.method import METHODS, MOST_ROUNDS, GraphSizes, Method, Pooled


@METHODS.register("set2set")
class Set2Set(Method):
    """Set2Set: an LSTM that attends to the nodes in several steps. [N, D] -> [B, 2 D]

    steps: how often it looks at all nodes.
    """

    architecture = "global"

    def __init__(
        self, in_dim: int, hidden_dim: int, *, sizes: GraphSizes | None = None, steps: int = 3
    ) -> None:
        super().__init__()
        between(1, MOST_ROUNDS, steps=steps)
        self.steps, self.in_dim, self.out_dim = steps, in_dim, 2 * in_dim
        self.from_input = nn.Linear(2 * in_dim, 4 * in_dim)
        self.from_state = nn.Linear(in_dim, 4 * in_dim)
        for parameter in self.parameters():  # as torch.nn.LSTM begins
            nn.init.uniform_(parameter, -(in_dim**-0.5), in_dim**-0.5)

    def pool(self, x: Tensor, edges: AnyEdges, segments: Segments) -> Pooled:
        B = segments.num_graphs
        state = cell = x.new_zeros(B, self.in_dim)
        both = x.new_zeros(B, 2 * self.in_dim)
        for _ in range(self.steps):
            gates = self.from_input(both) + self.from_state(state)
            enter, forget, new, leave = gates.chunk(4, dim=1)
            cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * torch.tanh(new)
            state = torch.sigmoid(leave) * torch.tanh(cell)  # [B, D]
            score = match(x, state.to(x.dtype)[None, :, None], segments)[:, 0]  # [N, 1]
            attention = segment_softmax(score, segments)
            read = collect(attention[:, None], x, segments)[0, :, 0]  # [B, D]
            both = torch.cat([state, read], dim=1)
        return Pooled(both, attention=attention[:, None])
