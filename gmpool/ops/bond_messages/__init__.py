"""Messages along edges of a few kinds, summed."""

from gmpool.ops.bond_messages.operator import bond_messages

__all__ = ["bond_messages"]
