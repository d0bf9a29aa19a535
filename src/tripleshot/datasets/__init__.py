"""Few-shot tasks over a background graph: made, stored, downloaded, drawn from."""
