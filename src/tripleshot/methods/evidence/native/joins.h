/* What joins heads to tails: links, rules, common neighbors and walks of three steps, by one walk outwards from a head.
 *
 * Everything is added up in ascending order of entities, so that a tail has the same evidence to the bit whichever other
 * tails are asked about. */

#define TINY 1e-12 /* what rounding leaves where all walks are taken away again */

typedef struct {
    int64_t count;
    const int64_t *first;   /* relation of the first step, ascending */
    const int64_t *second;  /* relation of the second step, -1 for none */
    const double *weights;
} Rules;

typedef struct {
    double *num_links, *link_share, *exclusiveness, *turned_exclusiveness, *rarity, *overlap, *is_head;
    double *path, *path_probability, *path_returning, *common, *walk, *walk_probability, *walk_returning;
} Evidence;

#define NUM_JOINS (sizeof(Evidence) / sizeof(double *))

/* What joins other pairs: those that begin so many later in every array. */
static Evidence skip_pairs(Evidence found, int64_t count) {
    double **arrays = (double **)&found;
    for (size_t array = 0; array < NUM_JOINS; array++) arrays[array] += count;
    return found;
}

/* Tell whether anything joins a pair. */
static int is_reached(const Evidence *found, int64_t pair) {
    return found->num_links[pair] > 0 || found->common[pair] > 0 || found->walk[pair] > 0 || found->path[pair] > 0 ||
           found->walk_probability[pair] > 0 || found->is_head[pair] > 0;
}

/* Weigh the edges that lead from the head to its tails. */
static void weigh_links(const Graph *graph, const Scratch *scratch, int64_t head, int64_t hidden,
                        const double *link_shares, const double *relation_rarity, Evidence found) {
    for (int64_t group = graph->groups[head]; group < graph->groups[head + 1]; group++) {
        int64_t relation = graph->relations[group];
        if (is_hidden(graph, relation, hidden)) continue;
        double exclusiveness = 1.0 / (double)(graph->starts[group + 1] - graph->starts[group]);
        double share = link_shares[relation], rarity = relation_rarity[relation % graph->num_relations];
        for (int64_t edge = graph->starts[group]; edge < graph->starts[group + 1]; edge++) {
            int64_t slot = scratch->slots[graph->entities[edge]] - 1;
            if (slot < 0) continue;
            found.num_links[slot] += 1;
            found.overlap[slot] += share * rarity;
            if (share > found.link_share[slot]) found.link_share[slot] = share;
            if (exclusiveness > found.exclusiveness[slot]) found.exclusiveness[slot] = exclusiveness;
            double back = 1.0 / (double)count_turned(graph, graph->entities[edge], relation);
            if (back > found.turned_exclusiveness[slot]) found.turned_exclusiveness[slot] = back;
            if (rarity > found.rarity[slot]) found.rarity[slot] = rarity;
        }
    }
}

/* Add the weight of each rule to the tails that it leads to from the head, once each, and how probable walks there and
 * back are if rules are drawn by their weights. */
static void follow_rules(const Graph *graph, Scratch *scratch, int64_t head, int64_t hidden, const Rules *rules,
                         double *path, double *probability, double *returning) {
    int64_t group = -1, last = -1;
    double sum = 0;
    for (int64_t rule = 0; rule < rules->count; rule++) sum += rules->weights[rule];
    for (int64_t rule = 0; rule < rules->count; rule++) {
        int64_t first = rules->first[rule], second = rules->second[rule];
        if (first != last) group = find_group(graph, head, first), last = first;
        if (group < 0 || is_hidden(graph, first, hidden) || (second >= 0 && is_hidden(graph, second, hidden))) continue;
        int64_t stamp = ++scratch->stamp;
        double drawn = rules->weights[rule] / sum, share = drawn / (double)count_edges(graph, group);
        for (int64_t edge = graph->starts[group]; edge < graph->starts[group + 1]; edge++) {
            int64_t middle = graph->entities[edge];
            if (second < 0) {
                int64_t slot = scratch->slots[middle] - 1;
                if (slot < 0) continue;
                probability[slot] += share;
                returning[slot] += drawn / (double)count_turned(graph, middle, first);
                if (scratch->stamps[slot] == stamp) continue;
                scratch->stamps[slot] = stamp;
                path[slot] += rules->weights[rule];
                continue;
            }
            if (middle == head || graph->degrees[middle] > graph->max_middle_degree) continue;
            int64_t next = find_group(graph, middle, second);
            if (next < 0) continue;
            double part = share / (double)count_edges(graph, next);
            double back = drawn / (double)count_turned(graph, middle, first);
            for (int64_t step = graph->starts[next]; step < graph->starts[next + 1]; step++) {
                int64_t end = graph->entities[step], slot = scratch->slots[end] - 1;
                if (slot < 0 || end == middle) continue;
                probability[slot] += part;
                returning[slot] += back / (double)count_turned(graph, end, second);
                if (scratch->stamps[slot] == stamp) continue;
                scratch->stamps[slot] = stamp;
                path[slot] += rules->weights[rule];
            }
        }
    }
}

/* Add what one common neighbor weighs to the tails next to it: by its neighbors, or by the tails if those are fewer. */
static void add_hub(const Graph *graph, const Scratch *scratch, int64_t hub, int64_t hidden, double weight,
                    const int64_t *tails, int64_t num_tails, double *common) {
    if (graph->rows[hub + 1] - graph->rows[hub] <= SEARCH_COST * num_tails) {
        for (int64_t row = graph->rows[hub]; row < graph->rows[hub + 1]; row++) {
            int64_t tail = graph->middles[row], slot = scratch->slots[tail] - 1;
            if (slot >= 0 && tail != hub && graph->sole_relations[row] != hidden) common[slot] += weight;
        }
        return;
    }
    for (int64_t place = 0; place < num_tails; place++) {
        int64_t slot = scratch->slots[tails[place]] - 1;
        if (slot == place && tails[place] != hub && is_joined(graph, hub, tails[place], hidden)) common[slot] += weight;
    }
}

/* Add a weight to every entity next to one, and remember those that had none. */
static int spread(const Graph *graph, Scratch *scratch, int64_t entity, int64_t hidden, double weight) {
    const int32_t *middles = graph->middles, *sole_relations = graph->sole_relations;
    double *weights = scratch->weights;
    int64_t last = graph->rows[entity + 1];
    hidden = hidden_of(scratch, entity, hidden);
    for (int64_t row = graph->rows[entity]; row < last; row++) {
        if (hidden != NO_EDGE && sole_relations[row] == hidden) continue;
        int32_t next = middles[row];
        if (weights[next] == 0 && !touch(scratch, next)) return 0;
        weights[next] += weight;
    }
    return 1;
}

/* The same where most entities are reached: nothing has to be remembered. */
static void spread_widely(const Graph *graph, Scratch *scratch, int64_t entity, int64_t hidden, double weight) {
    const int32_t *restrict middles = graph->middles, *restrict sole_relations = graph->sole_relations;
    double *restrict weights = scratch->weights;
    int64_t first = graph->rows[entity], last = graph->rows[entity + 1];
    if (hidden_of(scratch, entity, hidden) == NO_EDGE)
        for (int64_t row = first; row < last; row++) weights[middles[row]] += weight;
    else
        for (int64_t row = first; row < last; row++)
            weights[middles[row]] += sole_relations[row] == hidden ? 0 : weight;
}

/* Tell whether walks from the head pass through a neighbor; hubs and what is past `max_walks` they leave out. */
static int is_passed(const Graph *graph, int64_t head, int64_t row, int64_t hidden, int64_t *walked) {
    int64_t first = graph->middles[row], degree = graph->degrees[first];
    if (first == head || graph->sole_relations[row] == hidden || degree > graph->max_middle_degree) return 0;
    *walked += degree;
    return *walked <= graph->max_walks;
}

/* Take the first two steps: weigh every entity two steps from the head, and so the tails by their common neighbors.
 *
 * Return the end of the neighbors of the head that walks pass through, in their order; -1 if there is no memory. */
static int64_t take_two_steps(const Graph *graph, Scratch *scratch, int64_t head, int64_t hidden, const int64_t *tails,
                              int64_t num_tails, double *common) {
    int64_t walked = 0, total = 0, last = graph->rows[head];
    for (int64_t row = graph->rows[head]; row < graph->rows[head + 1]; row++) is_passed(graph, head, row, hidden, &total);
    scratch->is_wide = total > graph->num_entities;
    scratch->num_touched = 0;
    for (int64_t row = graph->rows[head]; row < graph->rows[head + 1]; row++) {
        int64_t first = graph->middles[row];
        if (!is_passed(graph, head, row, hidden, &walked)) continue;
        double weight = weigh_entity(graph, scratch, first);
        last = row + 1;
        if (scratch->is_wide) spread_widely(graph, scratch, first, hidden, weight);
        else if (!spread(graph, scratch, first, hidden, weight)) return -1;
    }
    for (int64_t place = 0; place < num_tails; place++) common[place] = scratch->weights[tails[place]];
    scratch->weights[head] = 0; /* no walk comes back to the head */
    walked = 0;
    for (int64_t row = graph->rows[head]; row < graph->rows[head + 1]; row++) {
        int64_t first = graph->middles[row], slot = scratch->slots[first] - 1;
        double weight = weigh_entity(graph, scratch, first);
        if (is_passed(graph, head, row, hidden, &walked)) { /* a tail is not next to itself by a loop */
            if (slot < 0 || !is_joined(graph, first, first, hidden)) continue;
            common[slot] = common[slot] - weight < TINY ? 0 : common[slot] - weight;
        } else if (first != head && graph->sole_relations[row] != hidden)
            add_hub(graph, scratch, first, hidden, weight, tails, num_tails, common);
    }
    return last;
}

/* Multiply the weight of each entity that two steps lead to by its own, and return how many edges leave them. */
static int64_t weigh_reached(const Graph *graph, Scratch *scratch) {
    int64_t num_edges = 0;
    if (scratch->is_wide) {
        for (int64_t entity = 0; entity < graph->num_entities; entity++)
            scratch->weights[entity] *= weigh_entity(graph, scratch, entity);
        return graph->rows[graph->num_entities];
    }
    for (int64_t place = 0; place < scratch->num_touched; place++) {
        int64_t entity = scratch->touched[place];
        scratch->weights[entity] *= weigh_entity(graph, scratch, entity);
        num_edges += graph->rows[entity + 1] - graph->rows[entity];
    }
    return num_edges;
}

/* Take the third step: add up the weights of the entities next to each tail, from the tails or to them. */
static void take_third_step(const Graph *graph, Scratch *scratch, int64_t hidden, const int64_t *tails,
                            int64_t num_tails, double *walk) {
    const int32_t *middles = graph->middles, *sole_relations = graph->sole_relations, *slots = scratch->slots;
    int64_t from_reached = weigh_reached(graph, scratch), from_tails = 0;
    for (int64_t place = 0; place < num_tails; place++)
        from_tails += graph->rows[tails[place] + 1] - graph->rows[tails[place]];
    if (from_tails <= from_reached || scratch->is_wide) {
        const double *weights = scratch->weights;
        for (int64_t place = 0; place < num_tails; place++) {
            if (slots[tails[place]] - 1 != place) continue;
            double sum = 0;
            int64_t first = graph->rows[tails[place]], last = graph->rows[tails[place] + 1];
            if (hidden_of(scratch, tails[place], hidden) == NO_EDGE)
                for (int64_t row = first; row < last; row++) sum += weights[middles[row]];
            else
                for (int64_t row = first; row < last; row++)
                    if (sole_relations[row] != hidden) sum += weights[middles[row]];
            walk[place] = sum;
        }
        return;
    }
    qsort(scratch->touched, scratch->num_touched, sizeof(int32_t), compare_entities);
    for (int64_t place = 0; place < scratch->num_touched; place++) {
        int64_t entity = scratch->touched[place], last = graph->rows[entity + 1];
        double weight = scratch->weights[entity];
        for (int64_t row = graph->rows[entity]; row < last; row++) {
            int64_t slot = slots[middles[row]] - 1;
            if (slot >= 0 && sole_relations[row] != hidden) walk[slot] += weight;
        }
    }
}

/* Take away head - tail - y - tail, which passes the tail before its end. */
static void drop_turned(const Graph *graph, const Scratch *scratch, int64_t head, int64_t hidden, int64_t last,
                        double *walk) {
    for (int64_t row = graph->rows[head]; row < last; row++) {
        int64_t tail = graph->middles[row], slot = scratch->slots[tail] - 1;
        if (slot < 0 || tail == head || graph->sole_relations[row] == hidden) continue;
        if (graph->degrees[tail] > graph->max_middle_degree) continue;
        double around = 0;
        for (int64_t step = graph->rows[tail]; step < graph->rows[tail + 1]; step++)
            if (graph->middles[step] != head && graph->sole_relations[step] != hidden)
                around += weigh_entity(graph, scratch, graph->middles[step]);
        walk[slot] -= around * weigh_entity(graph, scratch, tail);
    }
}

/* Measure what joins one head to its tails. The arrays of `found` are zero at first. Return 0, or 1 without memory. */
static int measure_head(const Graph *graph, Scratch *scratch, int64_t hidden, const Rules *rules,
                        const WalkRules *walk_rules, const double *link_shares, const double *relation_rarity,
                        int64_t head, int64_t num_tails, const int64_t *tails, Evidence found) {
    if (num_tails > scratch->max_stamps) {
        int64_t *grown = realloc(scratch->stamps, num_tails * sizeof(int64_t));
        if (!grown) return 1;
        memset(grown + scratch->max_stamps, 0, (num_tails - scratch->max_stamps) * sizeof(int64_t));
        scratch->stamps = grown;
        scratch->max_stamps = num_tails;
    }
    for (int64_t place = num_tails - 1; place >= 0; place--) scratch->slots[tails[place]] = (int32_t)place + 1;
    weigh_links(graph, scratch, head, hidden, link_shares, relation_rarity, found);
    follow_rules(graph, scratch, head, hidden, rules, found.path, found.path_probability, found.path_returning);
    follow_walk_rules(graph, scratch, head, walk_rules, found.walk_probability, found.walk_returning);
    if (scratch->slots[head]) found.is_head[scratch->slots[head] - 1] = 1;
    int64_t last = take_two_steps(graph, scratch, head, hidden, tails, num_tails, found.common);
    if (last >= 0) {
        take_third_step(graph, scratch, hidden, tails, num_tails, found.walk);
        drop_turned(graph, scratch, head, hidden, last, found.walk);
    }
    if (scratch->is_wide) memset(scratch->weights, 0, graph->num_entities * sizeof(double));
    for (int64_t place = 0; place < scratch->num_touched; place++) scratch->weights[scratch->touched[place]] = 0;
    for (int64_t place = 0; place < num_tails; place++) {
        int64_t slot = scratch->slots[tails[place]] - 1;
        if (found.walk[slot] < TINY) found.walk[slot] = 0;
        double **arrays = (double **)&found;
        for (size_t array = 0; slot != place && array < NUM_JOINS; array++) arrays[array][place] = arrays[array][slot];
    }
    for (int64_t place = 0; place < num_tails; place++) scratch->slots[tails[place]] = 0;
    return last < 0;
}

/* Measure what joins each head to its tails. The arrays of `all` are zero at first. Return 0, or 1 without memory. */
int measure_pairs(const Graph *graph, Scratch *scratch, const Hidden *unseen, const Rules *rules,
                  const WalkRules *walk_rules, const double *link_shares, const double *relation_rarity,
                  int64_t num_heads, const int64_t *heads, const int64_t *offsets, const int64_t *tails, Evidence all) {
    if (!is_usable(scratch)) return 1;
    hide(scratch, unseen, 1);
    for (int64_t index = 0; index < num_heads; index++) {
        int64_t start = offsets[index];
        if (measure_head(graph, scratch, unseen->relation, rules, walk_rules, link_shares, relation_rarity, heads[index],
                         offsets[index + 1] - start, tails + start, skip_pairs(all, start))) return 1;
    }
    hide(scratch, unseen, -1);
    return 0;
}
