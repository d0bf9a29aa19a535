"""Few-shot methods of others: GMatching, FSRL, FAAN, MetaR, GANA."""
