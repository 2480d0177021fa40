"""The inbound chain: what enters a model's context is looked at before the model is."""

from checkvalve.filters.inbound.carry import Carry
from checkvalve.filters.inbound.chain import InboundOptions, scan_inbound
from checkvalve.filters.inbound.detectors import Alert, InboundDetector, ScoredClassifier

__all__ = ["Alert", "Carry", "InboundDetector", "InboundOptions", "ScoredClassifier", "scan_inbound"]
