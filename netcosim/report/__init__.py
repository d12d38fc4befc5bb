"""Pages of results: what a results file holds, filled into ``templates/parts.html``."""
