"""The policies of this folder."""

from __future__ import annotations

from alloc.bluegene.cobalt import Cobalt, CobaltCombo, CobaltPaired, CobaltSimilar
from alloc.bluegene.menu import Menu, MenuProposed

PLUGIN = [Menu, MenuProposed, Cobalt, CobaltSimilar, CobaltPaired, CobaltCombo]
