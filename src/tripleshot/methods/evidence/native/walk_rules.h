/* Rules of three steps: the relations that walks from the examples' heads to their tails follow, by how probable such a
 * walk is. What they are, and why, is said in `walk_rules.py`. */

#define SEARCH_COST 16 /* steps of a walk that cost as much as looking up one pair */
#define FIRST_MASSES 1024 /* path types that there is room for; a power of two */

typedef struct {
    int64_t count;
    const int64_t *first, *second, *third; /* relations of the steps, ascending */
    const double *shares;                  /* how often each is drawn */
} WalkRules;

typedef struct {
    int64_t path_type; /* -1 for none */
    double mass;
} Mass;

/* Masses by path type: the place of one is found by its number, and past those that are taken. */
typedef struct {
    Mass *places;
    int64_t size, count;
} Masses;

/* A step from the head to x, from x to y and from the tail to y: rows of pairs of neighbors. */
typedef struct {
    int64_t x, y, rows[3], size; /* `size` walks, for edges stand side by side */
} Way;

static int64_t count_edges(const Graph *graph, int64_t group) { return graph->starts[group + 1] - graph->starts[group]; }

/* Count the edges of a relation that lead to an entity. */
static int64_t count_turned(const Graph *graph, int64_t entity, int64_t relation) {
    int64_t turned = (relation + graph->num_relations) % (2 * graph->num_relations);
    return count_edges(graph, find_group(graph, entity, turned));
}

static int64_t num_between(const Graph *graph, int64_t row) { return graph->edges[row + 1] - graph->edges[row]; }

static int64_t count_neighbors(const Graph *graph, int64_t entity) { return graph->rows[entity + 1] - graph->rows[entity]; }

static int make_masses(Masses *masses, int64_t size) {
    *masses = (Masses){malloc(size * sizeof(Mass)), size, 0};
    for (int64_t place = 0; masses->places && place < size; place++) masses->places[place] = (Mass){-1, 0};
    return masses->places != NULL;
}

/* Add to the mass of a path type. Return 0 without memory. */
static int add_mass(Masses *masses, int64_t path_type, double mass) {
    if (2 * masses->count >= masses->size) {
        Masses grown;
        if (!make_masses(&grown, 2 * masses->size)) return 0;
        for (int64_t place = 0; place < masses->size; place++)
            if (masses->places[place].path_type >= 0)
                add_mass(&grown, masses->places[place].path_type, masses->places[place].mass);
        free(masses->places);
        *masses = grown;
    }
    uint64_t place = ((uint64_t)path_type * 0x9E3779B97F4A7C15ull) >> 20;
    for (;; place++) {
        Mass *found = masses->places + (place & (uint64_t)(masses->size - 1));
        if (found->path_type != path_type && found->path_type >= 0) continue;
        masses->count += found->path_type < 0;
        found->path_type = path_type, found->mass += mass;
        return 1;
    }
}

/* Find the ways of three steps from head to tail; return how many. */
static int64_t find_ways(const Graph *graph, Scratch *scratch, int64_t head, int64_t tail, Way *ways) {
    int64_t count = 0, visits = 0, start = graph->rows[tail], end = graph->rows[tail + 1];
    for (int64_t row = start; row < end; row++) {
        int64_t y = graph->middles[row], is_passable = y != head && y != tail;
        scratch->slots[y] = is_passable && graph->degrees[y] <= graph->max_middle_degree ? (int32_t)(row - start) + 1 : 0;
    }
    for (int64_t step = graph->rows[head]; step < graph->rows[head + 1]; step++) {
        int64_t x = graph->middles[step], size = count_neighbors(graph, x);
        if (x == head || x == tail || graph->degrees[x] > graph->max_middle_degree) continue;
        visits += size < end - start ? size : end - start;
        if (visits > graph->max_visits) break;
        if (size <= (end - start) * SEARCH_COST) {
            for (int64_t row = graph->rows[x]; row < graph->rows[x + 1]; row++) {
                int64_t y = graph->middles[row], slot = scratch->slots[y] - 1;
                if (slot >= 0 && y != x) ways[count++] = (Way){x, y, {step, row, start + slot}};
            }
            continue;
        }
        for (int64_t back = start; back < end; back++) {
            int64_t y = graph->middles[back], row = scratch->slots[y] && y != x ? find_neighbor(graph, x, y) : -1;
            if (row >= 0) ways[count++] = (Way){x, y, {step, row, back}};
        }
    }
    for (int64_t row = start; row < end; row++) scratch->slots[graph->middles[row]] = 0;
    return count;
}

/* Add the walks from one head to one tail to the masses of their path types. Return 0 without memory. */
static int add_walks(const Graph *graph, Scratch *scratch, int64_t hidden, int64_t head, int64_t tail, Way *ways,
                     Masses *masses) {
    int64_t num_ways = find_ways(graph, scratch, head, tail, ways), total = 0, skipped = 0;
    int64_t width = 2 * graph->num_relations;
    for (int64_t way = 0; way < num_ways; way++) {
        const int64_t *rows = ways[way].rows;
        ways[way].size = num_between(graph, rows[0]) * num_between(graph, rows[1]) * num_between(graph, rows[2]);
        total += ways[way].size;
    }
    int64_t stride = 1 + total / graph->max_mined;
    for (int64_t way = 0; way < num_ways; way++) {
        if (skipped >= ways[way].size) {
            skipped -= ways[way].size;
            continue;
        }
        const int64_t *rows = ways[way].rows, seconds = num_between(graph, rows[1]), thirds = num_between(graph, rows[2]);
        int64_t walk = skipped;
        for (; walk < ways[way].size; walk += stride) {
            int64_t first = graph->pair_relations[graph->edges[rows[0]] + walk / thirds / seconds];
            int64_t second = graph->pair_relations[graph->edges[rows[1]] + walk / thirds % seconds];
            int64_t back = graph->pair_relations[graph->edges[rows[2]] + walk % thirds];
            if (is_hidden(graph, first, hidden) || is_hidden(graph, second, hidden) || is_hidden(graph, back, hidden))
                continue;
            int64_t third = (back + graph->num_relations) % width;
            int64_t ends = count_edges(graph, find_group(graph, head, first));
            ends *= count_edges(graph, find_group(graph, ways[way].x, second));
            ends *= count_edges(graph, find_group(graph, ways[way].y, third));
            if (ends > graph->max_ends) continue;
            if (!add_mass(masses, (first * width + second) * width + third, (double)stride / (double)ends)) return 0;
        }
        skipped = walk - ways[way].size;
    }
    return 1;
}

/* Find the path types of three steps that join pairs, those of the largest masses: `RuleWalks.mine`.
 *
 * There is room for `max_rules` of them, which are written in ascending order. Return how many, -1 without memory. */
int64_t mine_walks(const Graph *graph, Scratch *scratch, int64_t hidden, int64_t num_pairs, const int64_t *heads,
                   const int64_t *tails, int64_t *path_types, double *masses) {
    if (!is_usable(scratch)) return -1;
    Masses all;
    Way *ways = malloc((graph->max_visits + 1) * sizeof(Way));
    int is_complete = make_masses(&all, FIRST_MASSES) && ways;
    for (int64_t pair = 0; pair < num_pairs && is_complete; pair++)
        if (heads[pair] != tails[pair]) is_complete = add_walks(graph, scratch, hidden, heads[pair], tails[pair], ways, &all);
    int64_t count = 0;
    for (int64_t place = 0; is_complete && place < all.size; place++) {
        Mass mass = all.places[place];
        int64_t rank = count;
        if (mass.path_type < 0) continue;
        for (; rank > 0; rank--) { /* kept in order of mass; of equal ones the smaller number goes first */
            if (mass.mass < masses[rank - 1]) break;
            if (mass.mass == masses[rank - 1] && mass.path_type > path_types[rank - 1]) break;
            if (rank < graph->max_rules) masses[rank] = masses[rank - 1], path_types[rank] = path_types[rank - 1];
        }
        if (rank < graph->max_rules) masses[rank] = mass.mass, path_types[rank] = mass.path_type;
        count += count < graph->max_rules;
    }
    for (int64_t rule = 1; rule < count; rule++) { /* few enough to be put in order one by one */
        Mass mass = {path_types[rule], masses[rule]};
        int64_t place = rule;
        for (; place > 0 && path_types[place - 1] > mass.path_type; place--)
            path_types[place] = path_types[place - 1], masses[place] = masses[place - 1];
        path_types[place] = mass.path_type, masses[place] = mass.mass;
    }
    free(all.places), free(ways);
    return is_complete ? count : -1;
}

/* Follow each rule from the head through entities that are no hubs, and add to its tails how probable the walks there and
 * back are. No entity is passed twice, and what less than one walk of `max_ends` reaches is left out, which bounds the work. */
static void follow_walk_rules(const Graph *graph, const Scratch *scratch, int64_t head, const WalkRules *rules,
                              double *probability, double *returning) {
    for (int64_t rule = 0; rule < rules->count; rule++) {
        int64_t group = find_group(graph, head, rules->first[rule]);
        if (group < 0 || count_edges(graph, group) > graph->max_ends) continue;
        for (int64_t out = graph->starts[group]; out < graph->starts[group + 1]; out++) {
            int64_t x = graph->entities[out];
            if (x == head || graph->degrees[x] > graph->max_middle_degree) continue;
            int64_t next = find_group(graph, x, rules->second[rule]);
            if (next < 0) continue;
            int64_t ways = count_edges(graph, group) * count_edges(graph, next);
            if (ways > graph->max_ends) continue;
            for (int64_t step = graph->starts[next]; step < graph->starts[next + 1]; step++) {
                int64_t y = graph->entities[step];
                if (y == head || y == x || graph->degrees[y] > graph->max_middle_degree) continue;
                int64_t last = find_group(graph, y, rules->third[rule]);
                if (last < 0) continue;
                int64_t ends = ways * count_edges(graph, last);
                if (ends > graph->max_ends) continue;
                double share = rules->shares[rule] / (double)ends;
                for (int64_t edge = graph->starts[last]; edge < graph->starts[last + 1]; edge++) {
                    int64_t end = graph->entities[edge], slot = scratch->slots[end] - 1;
                    if (slot < 0 || end == head || end == x || end == y) continue;
                    probability[slot] += share;
                    double back = (double)count_turned(graph, x, rules->first[rule]) *
                                  (double)count_turned(graph, y, rules->second[rule]) *
                                  (double)count_turned(graph, end, rules->third[rule]);
                    returning[slot] += rules->shares[rule] / back;
                }
            }
        }
    }
}
