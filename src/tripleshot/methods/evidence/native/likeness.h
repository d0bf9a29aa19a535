/* How much entities are like others: by their relations and by the neighbors that they share. */

#define AHEAD 8 /* entities after which the next one is needed, whose memory is asked for early */
#define MAX_MASKED 64 /* entities that one pass of `compare` compares with, a bit each */

/* Weigh the neighbors that entities have in common with others, at most MAX_MASKED of them. */
static void share_neighbors(const Graph *graph, Scratch *scratch, int64_t hidden, int64_t num_entities,
                            const int64_t *entities, int64_t num_others, const int64_t *others, double *shared) {
    for (int64_t other = 0; other < num_others; other++)
        for (int64_t row = graph->rows[others[other]]; row < graph->rows[others[other] + 1]; row++) {
            int64_t middle = graph->middles[row];
            if (middle == others[other] || graph->sole_relations[row] == hidden) continue;
            scratch->masks[middle] |= (uint64_t)1 << other;
            scratch->weights[middle] = weigh_entity(graph, scratch, middle);
        }
    for (int64_t place = 0; place < num_entities; place++) {
        if (scratch->slots[entities[place]] - 1 != place) continue;
        if (place + AHEAD < num_entities) __builtin_prefetch(graph->middles + graph->rows[entities[place + AHEAD]]);
        if (place + 2 * AHEAD < num_entities) __builtin_prefetch(graph->rows + entities[place + 2 * AHEAD]);
        int64_t unseen = hidden_of(scratch, entities[place], hidden), last = graph->rows[entities[place] + 1];
        for (int64_t row = graph->rows[entities[place]]; row < last; row++) {
            int64_t middle = graph->middles[row];
            uint64_t mask = scratch->masks[middle];
            if (!mask || middle == entities[place] || (unseen != NO_EDGE && graph->sole_relations[row] == unseen)) continue;
            for (; mask; mask &= mask - 1)
                shared[__builtin_ctzll(mask) * num_entities + place] += scratch->weights[middle];
        }
    }
    for (int64_t other = 0; other < num_others; other++)
        for (int64_t row = graph->rows[others[other]]; row < graph->rows[others[other] + 1]; row++)
            scratch->masks[graph->middles[row]] = 0, scratch->weights[graph->middles[row]] = 0;
}

/* Return the cosine of the relations of entities with those of others, at most MAX_MASKED of them. */
static void compare_relations(const Graph *graph, const Scratch *scratch, int64_t hidden, int64_t num_entities,
                              const int64_t *entities, int64_t num_others, const double *profiles, int64_t stride,
                              double *similarity) {
    for (int64_t place = 0; place < num_entities; place++) {
        int64_t entity = entities[place];
        if (scratch->slots[entity] - 1 != place) continue;
        if (place + AHEAD < num_entities) {
            int64_t group = graph->groups[entities[place + AHEAD]];
            __builtin_prefetch(graph->relations + group), __builtin_prefetch(graph->starts + group);
        }
        if (place + 2 * AHEAD < num_entities) __builtin_prefetch(graph->groups + entities[place + 2 * AHEAD]);
        double products[MAX_MASKED] = {0}, square = 0;
        for (int64_t group = graph->groups[entity]; group < graph->groups[entity + 1]; group++) {
            int64_t relation = graph->relations[group];
            if (is_hidden(graph, relation, hidden)) continue;
            int64_t count = graph->starts[group + 1] - graph->starts[group];
            double weight = count < NUM_LOGARITHMS ? scratch->logarithms[count] : log1p((double)count);
            weight *= graph->rarity[relation];
            square += weight * weight;
            const double *profile = profiles + relation * stride;
            int64_t other = 0;
            for (; other + 4 <= num_others; other += 4)
                for (int64_t lane = 0; lane < 4; lane++) products[other + lane] += weight * profile[other + lane];
            for (; other < num_others; other++) products[other] += weight * profile[other];
        }
        double length = sqrt(square) > 1e-9 ? sqrt(square) : 1e-9;
        for (int64_t other = 0; other < num_others; other++)
            similarity[other * num_entities + place] = products[other] / length;
    }
}

/* Return which share of the types that one of two entities has both have. */
static double compare_types(const Graph *graph, int64_t one, int64_t other) {
    int64_t first = graph->type_offsets[one], second = graph->type_offsets[other], both = 0;
    int64_t first_end = graph->type_offsets[one + 1], second_end = graph->type_offsets[other + 1];
    int64_t sum = first_end - first + second_end - second;
    while (first < first_end && second < second_end) {
        int32_t a = graph->types[first], b = graph->types[second];
        both += a == b, first += a <= b, second += b <= a;
    }
    return both ? (double)both / (double)(sum - both) : 0;
}

/* Compare entities with others: by their relations, their neighbors and their types.
 *
 * `profiles` is [2 * num_relations][num_others], of unit length; `similarity`, `shared` and `types` are
 * [num_others][num_entities] and zero at first; `degrees` is [num_entities]. An entity that stands there several times is compared once. */
static void compare_visible(const Graph *graph, Scratch *scratch, int64_t hidden, int64_t num_entities,
                            const int64_t *entities, int64_t num_others, const int64_t *others, const double *profiles,
                            double *similarity, double *shared, double *types, int64_t *degrees) {
    for (int64_t place = num_entities - 1; place >= 0; place--) scratch->slots[entities[place]] = (int32_t)place + 1;
    for (int64_t first = 0; first < num_others; first += MAX_MASKED) {
        int64_t size = num_others - first < MAX_MASKED ? num_others - first : MAX_MASKED, done = first * num_entities;
        compare_relations(graph, scratch, hidden, num_entities, entities, size, profiles + first, num_others,
                          similarity + done);
        share_neighbors(graph, scratch, hidden, num_entities, entities, size, others + first, shared + done);
    }
    for (int64_t place = 0; place < num_entities; place++) {
        int64_t slot = scratch->slots[entities[place]] - 1;
        degrees[place] = visible_degree(graph, scratch, entities[place]);
        for (int64_t other = 0; types && other < num_others; other++)
            types[other * num_entities + place] = compare_types(graph, entities[place], others[other]);
        if (slot == place) continue;
        for (int64_t other = 0; other < num_others; other++) {
            similarity[other * num_entities + place] = similarity[other * num_entities + slot];
            shared[other * num_entities + place] = shared[other * num_entities + slot];
        }
    }
    for (int64_t place = 0; place < num_entities; place++) scratch->slots[entities[place]] = 0;
}

/* The same with a relation hidden first. Return 0, or 1 without memory. */
int compare(const Graph *graph, Scratch *scratch, const Hidden *unseen, int64_t num_entities, const int64_t *entities,
            int64_t num_others, const int64_t *others, const double *profiles, double *similarity, double *shared,
            double *types, int64_t *degrees) {
    if (!is_usable(scratch)) return 1;
    hide(scratch, unseen, 1);
    compare_visible(graph, scratch, unseen->relation, num_entities, entities, num_others, others, profiles, similarity,
                    shared, types, degrees);
    hide(scratch, unseen, -1);
    return 0;
}
