"""Packet- and flow-level network simulation: topologies, routing, engines, link statistics."""

from netsim.kernel_cache import use_kernel_cache

use_kernel_cache()
