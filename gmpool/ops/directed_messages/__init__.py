"""Messages on directed bonds: each bond hears the others that lead to where it begins."""

from gmpool.ops.directed_messages.operator import directed_messages

__all__ = ["directed_messages"]
