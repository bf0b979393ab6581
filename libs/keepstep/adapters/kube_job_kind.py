"""The job kinds by name, as adapters call them: apart from all that is known of a kind and takes time to load."""

from keepstep.contracts.kubernetes import JobKind

__all__ = ["JobKind"]
