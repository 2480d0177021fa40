"""All techniques, by name."""

from __future__ import annotations

from typing import Final

from checkvalve.corpora.laundering.addresses import address_techniques
from checkvalve.corpora.laundering.carriers import carrier_techniques
from checkvalve.corpora.laundering.figures import figure_techniques
from checkvalve.corpora.laundering.mentions import mention_techniques
from checkvalve.corpora.laundering.orders import order_techniques
from checkvalve.corpora.laundering.plants import plant_techniques
from checkvalve.corpora.laundering.spellings import spelling_techniques
from checkvalve.corpora.laundering.technique import Technique

TECHNIQUES: Final[dict[str, Technique]] = {
    technique.name: technique
    for technique in (
        *mention_techniques(),
        *order_techniques(),
        *spelling_techniques(),
        *plant_techniques(),
        *figure_techniques(),
        *carrier_techniques(),
        *address_techniques(),
    )
}
GROUPS: Final = tuple(dict.fromkeys(technique.group for technique in TECHNIQUES.values()))
