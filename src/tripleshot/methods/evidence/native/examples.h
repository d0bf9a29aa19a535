/* What is read off examples: the paths that join them, how much else those reach, and the relations of their ends. */

/* Fill in the relations of entities, by TF-IDF and of unit length: `profiles` is [2 * num_relations][num_entities] and zero
 * at first. */
void read_profiles(const Graph *graph, int64_t hidden, int64_t num_entities, const int64_t *entities, double *profiles) {
    for (int64_t place = 0; place < num_entities; place++) {
        int64_t first = graph->groups[entities[place]], last = graph->groups[entities[place] + 1];
        double square = 0;
        for (int64_t group = first; group < last; group++) {
            int64_t relation = graph->relations[group];
            if (is_hidden(graph, relation, hidden)) continue;
            double weight = log1p((double)(graph->starts[group + 1] - graph->starts[group])) * graph->rarity[relation];
            profiles[relation * num_entities + place] = weight;
            square += weight * weight;
        }
        double length = sqrt(square) > 1e-9 ? sqrt(square) : 1e-9;
        for (int64_t group = first; group < last; group++)
            profiles[(int64_t)graph->relations[group] * num_entities + place] /= length;
    }
}

/* Find the path types that join pairs: those of one step, and of two steps through common neighbors that are no hubs.
 *
 * Path types are numbered as `PathTypes` does. `owners` and `path_types` have room for `capacity` of them; how many there
 * are is returned. `has_common` tells which pairs have a common neighbor at all. */
int64_t join_pairs(const Graph *graph, int64_t hidden, int64_t num_pairs, const int64_t *heads, const int64_t *tails,
                   int64_t capacity, int64_t *owners, int64_t *path_types, int64_t *has_common) {
    int64_t count = 0, base = 2 * graph->num_relations + 1;
    for (int64_t pair = 0; pair < num_pairs; pair++) {
        int64_t head = heads[pair], tail = tails[pair], near = graph->rows[head], far = graph->rows[tail];
        int64_t direct = find_neighbor(graph, head, tail);
        for (int64_t edge = direct < 0 ? 0 : graph->edges[direct]; direct >= 0 && edge < graph->edges[direct + 1]; edge++) {
            int64_t relation = graph->pair_relations[edge];
            if (is_hidden(graph, relation, hidden)) continue;
            if (count < capacity) owners[count] = pair, path_types[count] = relation * base;
            count++;
        }
        while (near < graph->rows[head + 1] && far < graph->rows[tail + 1]) {
            int64_t middle = graph->middles[near];
            if (middle != graph->middles[far]) {
                if (middle < graph->middles[far]) near++;
                else far++;
                continue;
            }
            int64_t of_head = near++, of_tail = far++;
            if (middle == head || middle == tail) continue;
            if (graph->sole_relations[of_head] == hidden || graph->sole_relations[of_tail] == hidden) continue;
            has_common[pair] = 1;
            if (graph->degrees[middle] > graph->max_middle_degree) continue;
            for (int64_t out = graph->edges[of_head]; out < graph->edges[of_head + 1]; out++)
                for (int64_t back = graph->edges[of_tail]; back < graph->edges[of_tail + 1]; back++) {
                    int64_t first = graph->pair_relations[out], last = graph->pair_relations[back];
                    if (is_hidden(graph, first, hidden) || is_hidden(graph, last, hidden)) continue;
                    int64_t second = (last + graph->num_relations) % (2 * graph->num_relations);
                    if (count < capacity) owners[count] = pair, path_types[count] = first * base + second + 1;
                    count++;
                }
        }
    }
    return count;
}

/* Add to each rule how many entities other than the head it leads to, for all heads together. `counts` is zero at first.
 *
 * At most `max_walks` edges are walked along per head and rule. Return 0, or 1 without memory. */
int count_reached(const Graph *graph, Scratch *scratch, const Rules *rules, int64_t num_heads, const int64_t *heads,
                  int64_t *counts) {
    if (!is_usable(scratch)) return 1;
    for (int64_t index = 0; index < num_heads; index++) {
        int64_t head = heads[index];
        for (int64_t rule = 0; rule < rules->count; rule++) {
            int64_t group = find_group(graph, head, rules->first[rule]), walked = 0;
            if (group < 0) continue;
            int32_t mark = begin_count(graph, scratch), *marks = scratch->marks;
            int64_t count = 0;
            marks[head] = mark;
            for (int64_t edge = graph->starts[group]; edge < graph->starts[group + 1]; edge++) {
                int64_t middle = graph->entities[edge];
                int64_t step = edge, end = edge + 1;
                if (rules->second[rule] >= 0) {
                    if (graph->degrees[middle] > graph->max_middle_degree) continue;
                    int64_t next = find_group(graph, middle, rules->second[rule]);
                    if (next < 0) continue;
                    step = graph->starts[next], end = graph->starts[next + 1];
                }
                walked += end - step;
                if (walked > graph->max_walks) break;
                for (; step < end; step++) {
                    int32_t reached = graph->entities[step];
                    count += marks[reached] != mark;
                    marks[reached] = mark;
                }
            }
            counts[rule] += count;
        }
    }
    return 0;
}
