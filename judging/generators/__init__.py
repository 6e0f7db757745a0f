"""The checklist policies, by name. A new one is a module here and a line below."""

from judging.generators.base import Policy
from judging.generators.ticking import Ticking

POLICIES: dict[str, Policy] = {policy.name: policy for policy in (Ticking(),)}

__all__ = ["POLICIES", "Policy"]
