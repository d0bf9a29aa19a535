"""Few-shot tasks over a background graph: how they are made, checked, stored, downloaded and drawn from."""
