"""Questions about a new relation: ranked answers and why."""
