"""Messages along edges of a few kinds, summed."""

from gmpool.ops.bond_messages.operator import bond_messages
from gmpool.ops.bond_messages.reference import bond_messages_reference

__all__ = ["bond_messages", "bond_messages_reference"]
