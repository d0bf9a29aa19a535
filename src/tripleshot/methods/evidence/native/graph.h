/* A graph, its indexes, what is hidden of it, and the memory of one call. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define NUM_LOGARITHMS 256 /* of small counts, which are most */
#define NO_EDGE -1 /* stands for no relation among `sole_relations` */

typedef struct {
    int64_t num_entities, num_relations;
    const int64_t *rows;             /* [num_entities + 1] where each entity's distinct neighbors start */
    const int32_t *middles;          /* the neighbors, ascending */
    const int32_t *sole_relations;   /* the one relation that joins the two, or -2 */
    const int64_t *edges;            /* where the relations of each pair of neighbors start */
    const int32_t *pair_relations;   /* of the edges between the two; inverses past num_relations */
    const int64_t *groups;           /* [num_entities + 1] where each entity's relations start */
    const int32_t *relations;        /* ascending; inverses past num_relations */
    const int64_t *starts;           /* where the edges of each relation of each entity start */
    const int32_t *entities;         /* the entity at the other end of each edge */
    const int64_t *degrees;          /* [num_entities] edges in both directions */
    const double *rarity;            /* [2 * num_relations] inverse document frequency */
    const int64_t *type_offsets;     /* [num_entities + 1] where each entity's types start */
    const int32_t *types;            /* ascending within an entity */
    const double *type_rarity;       /* of each type */
    int64_t max_middle_degree, max_walks;
    int64_t max_rules, max_ends, max_visits, max_mined; /* of rules of three steps */
} Graph;

typedef struct {
    int64_t relation;      /* that is not seen, in either direction; -1 for none */
    int64_t num_ends;
    const int32_t *ends;   /* head and tail of each of its triples */
} Hidden;

typedef struct {
    double *weights;   /* [num_entities] of the ways of two steps from the head; zero between calls */
    uint64_t *masks;   /* [num_entities] which of the compared entities are next to each; zero between calls */
    int32_t *slots;    /* [num_entities] 1 + the place of a tail; zero between calls */
    int32_t *unseen;   /* [num_entities] edges of the hidden relation; zero between calls */
    int32_t *marks;    /* [num_entities] the last count that an entity was in */
    double *shares;    /* [num_entities] what `weigh_entity` returned last; zero if that may have changed */
    int32_t *touched;  /* entities whose weight is not zero */
    int64_t num_touched, max_touched;
    int is_wide;       /* whether so much is reached that all entities count as touched */
    int64_t *stamps;   /* the last rule that reached each tail */
    int64_t max_stamps, stamp;
    int32_t mark;      /* of the last count */
    double logarithms[NUM_LOGARITHMS]; /* log(1 + count) */
} Scratch;

Scratch *make_scratch(int64_t num_entities) {
    Scratch *scratch = calloc(1, sizeof(Scratch));
    if (!scratch) return NULL;
    size_t size = num_entities > 0 ? num_entities : 1;
    scratch->weights = calloc(size, sizeof(double)); /* pages that are never touched take no memory */
    scratch->masks = calloc(size, sizeof(uint64_t));
    scratch->slots = calloc(size, sizeof(int32_t));
    scratch->unseen = calloc(size, sizeof(int32_t));
    scratch->marks = calloc(size, sizeof(int32_t));
    scratch->shares = calloc(size, sizeof(double));
    for (int count = 0; count < NUM_LOGARITHMS; count++) scratch->logarithms[count] = log1p(count);
    return scratch;
}

void free_scratch(Scratch *scratch) {
    if (!scratch) return;
    free(scratch->weights), free(scratch->masks), free(scratch->slots), free(scratch->unseen), free(scratch->marks);
    free(scratch->shares), free(scratch->touched), free(scratch->stamps);
    free(scratch);
}

static int is_usable(const Scratch *scratch) {
    return scratch && scratch->weights && scratch->masks && scratch->slots && scratch->unseen && scratch->marks &&
           scratch->shares;
}

/* Return the place of a relation among those of an entity, -1 if it has no such edge. */
static int64_t find_group(const Graph *graph, int64_t entity, int64_t relation) {
    int64_t size = graph->groups[entity + 1] - graph->groups[entity];
    const int32_t *low = graph->relations + graph->groups[entity];
    for (int64_t half = size / 2; size > 1; size -= half, half = size / 2) /* without branches that are hard to foresee */
        low += low[half - 1] < relation ? half : 0;
    return size > 0 && *low == relation ? low - graph->relations : -1;
}

/* Take the edges of the hidden relation from the degrees of their ends, or give them back. */
static void hide(Scratch *scratch, const Hidden *hidden, int32_t count) {
    for (int64_t end = 0; end < hidden->num_ends; end++)
        scratch->unseen[hidden->ends[end]] += count, scratch->shares[hidden->ends[end]] = 0;
}

static int64_t visible_degree(const Graph *graph, const Scratch *scratch, int64_t entity) {
    return graph->degrees[entity] - scratch->unseen[entity];
}

/* An entity with many edges says little: it weighs 1 / its edges. */
static inline double weigh_entity(const Graph *graph, const Scratch *scratch, int64_t entity) {
    double share = scratch->shares[entity];
    if (share > 0) return share;
    int64_t degree = visible_degree(graph, scratch, entity);
    return scratch->shares[entity] = 1.0 / (double)(degree > 1 ? degree : 1);
}

/* Return the relation that may be all that joins an entity to a neighbor and is hidden; NO_EDGE if it has no such edge. */
static int64_t hidden_of(const Scratch *scratch, int64_t entity, int64_t hidden) {
    return scratch->unseen[entity] ? hidden : NO_EDGE;
}

/* Begin to count entities: those whose mark is the returned one were counted. */
static int32_t begin_count(const Graph *graph, Scratch *scratch) {
    if (scratch->mark == INT32_MAX) {
        memset(scratch->marks, 0, graph->num_entities * sizeof(int32_t));
        scratch->mark = 0;
    }
    return ++scratch->mark;
}

/* Return the place of one entity among the neighbors of another, -1 if no edge joins the two. */
static int64_t find_neighbor(const Graph *graph, int64_t entity, int64_t other) {
    int64_t low = graph->rows[entity], end = graph->rows[entity + 1], high = end;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (graph->middles[middle] < other) low = middle + 1;
        else high = middle;
    }
    return low < end && graph->middles[low] == other ? low : -1;
}

/* Tell whether a visible edge joins two entities. */
static int is_joined(const Graph *graph, int64_t entity, int64_t other, int64_t hidden) {
    int64_t place = find_neighbor(graph, entity, other);
    return place >= 0 && graph->sole_relations[place] != hidden;
}

static int is_hidden(const Graph *graph, int64_t relation, int64_t hidden) {
    return hidden >= 0 && (relation == hidden || relation == hidden + graph->num_relations);
}

static int touch(Scratch *scratch, int32_t entity) {
    if (scratch->num_touched == scratch->max_touched) {
        int64_t size = scratch->max_touched ? 2 * scratch->max_touched : 4096;
        int32_t *grown = realloc(scratch->touched, size * sizeof(int32_t));
        if (!grown) return 0;
        scratch->touched = grown;
        scratch->max_touched = size;
    }
    scratch->touched[scratch->num_touched++] = entity;
    return 1;
}

static int compare_entities(const void *first, const void *second) {
    int32_t a = *(const int32_t *)first, b = *(const int32_t *)second;
    return (a > b) - (a < b);
}
