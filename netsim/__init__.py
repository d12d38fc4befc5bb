"""The networks of netcosim, by packets and by flows: topologies, routing, engines, statistics."""

from netsim.kernel_cache import use_kernel_cache

use_kernel_cache()
