/* Evidence by propagation: one walk outwards from a head serves all of its tails.
 *
 * What is computed, and why, is said in `pair_evidence.py`, `walks.py`, `path_rules.py` and `walk_rules.py`;
 * `plain_evidence.py` is the plain reference. */

#include "gelu.h"
#include "graph.h"
#include "walk_rules.h"
#include "joins.h"
#include "examples.h"
#include "likeness.h"
#include "features.h"
#include "mining.h"
#include "episodes.h"
#include "network.h"
