"""What objects of a Kubernetes cluster show of its nodes; loaded only where the settings name one."""

from keepstep.adapters.kube_troubles import KubeTroubles
from keepstep.contracts.taxonomy import Service
from keepstep.detector.settings import DetectorSettings
from keepstep.ports.troubles import Troubles
from keepstep.runtime.kubernetes import connected, watched


def troubles_of(settings: DetectorSettings) -> Troubles:
    """Return the objects that the settings ask to be read. Raises Permanent if the cluster cannot be found."""
    return KubeTroubles(
        connected(settings.cluster, Service.DETECTOR),
        conditions=settings.detector_conditions,
        mindcluster=settings.detector_mindcluster,
        hooks=watched(Service.DETECTOR),
    )
