"""Times of one message in SST's merlin, measured on the Level-Spread paper's machine."""

from __future__ import annotations

ONE_WAY_NS = (205.5, 357.5, 509.5, 661.5)
"""A message of 1000 bytes by router-to-router links; its own bytes take no time there."""
LONG_MESSAGE_US = 48 * 2.048
"""What a message of 100,000 bytes takes more: its packets before the last one."""
