/* The features of whole episodes of training: examples are read, heads and tails measured and features written in one
 * call. What is measured is what the other headers define. What belongs to a tail alone is computed once for all heads of
 * an episode. */

typedef struct {
    Hidden hidden;
    int64_t num_examples, num_heads, num_tails; /* `num_tails` of each head */
    const int64_t *support;                     /* [num_examples][2] head and tail */
    const int64_t *heads;                       /* [num_heads] */
    const int64_t *tails;                       /* [num_heads][num_tails] */
    float *out;                                 /* [num_heads][num_tails][number of features] */
} Episode;

/* What the examples of an episode say. */
typedef struct {
    Support support;
    Rules rules;
    WalkRules walk_rules;
    double *link_shares, *head_profiles, *tail_profiles;
    double factors[NUM_FACTORS]; /* those that are the same for all heads, and zero for the others */
} Examples;

/* Return how many different numbers there are, of a few. */
static int64_t count_distinct(const int64_t *numbers, int64_t size) {
    int64_t count = 0;
    for (int64_t place = 0; place < size; place++) {
        int64_t before = 0;
        while (numbers[before] != numbers[place]) before++;
        count += before == place;
    }
    return count;
}

/* Look at the examples of an episode: `EvidenceIndex.read_examples`. */
static Examples read_examples(const Graph *graph, Scratch *scratch, const Episode *episode, double smoothing,
                              Memory *memory) {
    int64_t size = episode->num_examples, width = 2 * graph->num_relations, hidden = episode->hidden.relation;
    int64_t *heads = take(memory, size, sizeof(int64_t)), *tails = take(memory, size, sizeof(int64_t));
    int64_t *has_common = take(memory, size, sizeof(int64_t)), *is_linked = take(memory, size, sizeof(int64_t));
    double *type_rarity = take(memory, size, sizeof(double));
    Examples examples = {{size, heads, tails, type_rarity}, {0}, {0}, take(memory, width, sizeof(double)),
                         take(memory, width * size, sizeof(double)), take(memory, width * size, sizeof(double)), {0}};
    if (memory->has_failed) return examples;
    for (int64_t example = 0; example < size; example++)
        heads[example] = episode->support[2 * example], tails[example] = episode->support[2 * example + 1];
    int64_t num_joining, num_linked = 0, num_common = 0, num_typed = 0;
    int64_t *joining = find_joining(graph, hidden, &examples.support, memory, has_common, &num_joining);
    if (memory->has_failed) return examples;
    examples.rules = mine_rules(graph, scratch, &examples.support, joining, num_joining, smoothing, memory);
    examples.walk_rules = mine_walk_rules(graph, scratch, hidden, &examples.support, memory);
    for (int64_t path = 0; path < num_joining; path++) {
        int64_t path_type = joining[path] / size;
        if (path_type % (width + 1)) continue;
        examples.link_shares[path_type / (width + 1)] += 1;
        is_linked[joining[path] % size] = 1;
    }
    for (int64_t relation = 0; relation < width; relation++) examples.link_shares[relation] /= (double)size;
    for (int64_t example = 0; example < size; example++)
        num_linked += is_linked[example], num_common += has_common[example];
    for (int64_t example = 0; example < size; example++) {
        int64_t first = graph->type_offsets[tails[example]], last = graph->type_offsets[tails[example] + 1];
        for (int64_t type = first; type < last; type++) type_rarity[example] += graph->type_rarity[graph->types[type]];
        if (last > first) type_rarity[example] /= (double)(last - first), num_typed++;
    }
    read_profiles(graph, hidden, size, heads, examples.head_profiles);
    read_profiles(graph, hidden, size, tails, examples.tail_profiles);
    double *factors = examples.factors, count = (double)size;
    factors[LINKED_SHARE] = (double)num_linked / count, factors[IS_UNLINKED] = num_linked == 0;
    factors[COMMON_SHARE] = (double)num_common / count;
    factors[DISTINCT_TAILS] = (double)count_distinct(tails, size) / count;
    factors[REPEATED_TAILS] = 1 - factors[DISTINCT_TAILS];
    factors[DISTINCT_HEADS] = (double)count_distinct(heads, size) / count;
    factors[TYPED_SHARE] = (double)num_typed / count;
    for (int64_t example = 0; example < size; example++)
        factors[LOOP_SHARE] += (double)(heads[example] == tails[example]) / count;
    factors[ALWAYS] = 1;
    return examples;
}

static int is_of_pair(int64_t quantity) {
    return quantity <= WALK_BY_DEGREE || quantity == SIMILAR_HEAD || quantity == SAME_NEIGHBORS ||
           quantity == SHARED_BY_SIMILARITY;
}

/* What belongs to each tail alone. */
typedef struct {
    int64_t count, *entities, *degrees;
    double *similarity, *shared, *types; /* [number of examples][count] */
    float *values;               /* [count][number of features] before factors; zero for features of a pair */
    char *speaks;                /* [count] whether features of a pair may be other than zero if nothing joins the pair */
} Tails;

/* Find the tails of an episode, each once; `places` tells for each that is asked about which it is. */
static Tails find_tails(const Graph *graph, Scratch *scratch, const Episode *episode, const Examples *examples,
                        int64_t num_features, Memory *memory, int32_t *places) {
    int64_t total = episode->num_heads * episode->num_tails, size = examples->support.count;
    Tails tails = {0, take(memory, total, sizeof(int64_t)), NULL, NULL, NULL, NULL, NULL, NULL};
    if (memory->has_failed) return tails;
    for (int64_t place = 0; place < total; place++) {
        int32_t *slot = scratch->slots + episode->tails[place];
        if (!*slot) tails.entities[tails.count++] = episode->tails[place], *slot = (int32_t)tails.count;
        places[place] = *slot - 1;
    }
    for (int64_t tail = 0; tail < tails.count; tail++) scratch->slots[tails.entities[tail]] = 0;
    tails.degrees = take(memory, tails.count, sizeof(int64_t));
    tails.similarity = take(memory, size * tails.count, sizeof(double));
    tails.shared = take(memory, size * tails.count, sizeof(double));
    tails.types = take(memory, size * tails.count, sizeof(double));
    tails.values = take(memory, tails.count * num_features, sizeof(float));
    tails.speaks = take(memory, tails.count, sizeof(char));
    if (!memory->has_failed)
        compare_visible(graph, scratch, episode->hidden.relation, tails.count, tails.entities, size,
                        examples->support.tails, examples->tail_profiles, tails.similarity, tails.shared, tails.types,
                        tails.degrees);
    return tails;
}

/* Fill in what features take of each tail alone. */
static void describe_tails(const Features *features, const Support *support, Tails *tails) {
    for (int64_t tail = 0; tail < tails->count; tail++) {
        double found[NUM_QUANTITIES] = {0}, count = (double)support->count;
        found[ONE] = 1;
        for (int64_t example = 0; example < support->count; example++) {
            double like = tails->similarity[example * tails->count + tail];
            double both = tails->shared[example * tails->count + tail];
            found[MEAN_SIMILARITY] += like, found[SHARED_BY_DEGREE] += both, found[SHARED_SHARE] += both > 0;
            found[LARGEST_SIMILARITY] = larger(found[LARGEST_SIMILARITY], like);
            add_types(support, example, tails->types[example * tails->count + tail], found);
            if (support->heads[example] == tails->entities[tail]) found[TAIL_IS_HEAD] = 1;
            if (support->tails[example] == tails->entities[tail]) found[TAIL_SHARE] += 1;
        }
        tails->speaks[tail] = found[SHARED_SHARE] > 0 || found[TAIL_SHARE] > 0;
        found[MEAN_SIMILARITY] /= count, found[TAIL_SHARE] /= count, found[SHARED_SHARE] /= count;
        found[TYPE_SHARE] /= count, found[RARE_TYPE_SHARE] /= count;
        found[SHARED_BY_DEGREE] /= count * sqrt(larger((double)tails->degrees[tail], 1));
        float *values = tails->values + tail * features->count;
        for (int64_t feature = 0; feature < features->count; feature++)
            if (found[features->quantities[feature]] != 0) values[feature] = (float)transformed(features, feature, found);
    }
}

/* Write the features of one head with its tails, which begin at `tails` and are among those of `all` at `places`. */
static void write_head(const Features *features, const Support *support, const double *factors, int64_t index,
                       int64_t num_heads, const double *head_similarity, const double *head_shared, int64_t num_tails,
                       const int64_t *tails, const int32_t *places, const Tails *all, const Evidence *joins,
                       const int64_t *of_pair, int64_t num_of_pair, float *restrict factor, float *restrict out) {
    int64_t width = features->count;
    for (int64_t feature = 0; feature < width; feature++) factor[feature] = (float)factors[features->factors[feature]];
    for (int64_t pair = 0; pair < num_tails; pair++, out += width) {
        int64_t tail = places[pair];
        const float *restrict values = all->values + tail * width;
        for (int64_t feature = 0; feature < width; feature++) out[feature] = values[feature] * factor[feature];
        if (!all->speaks[tail] && !is_reached(joins, pair)) continue;
        double found[NUM_QUANTITIES] = {0};
        join(joins, pair, (double)all->degrees[tail], found);
        for (int64_t example = 0; all->speaks[tail] && example < support->count; example++) {
            double head_like = head_similarity[example * num_heads + index];
            double both = all->shared[example * all->count + tail];
            found[SHARED_BY_SIMILARITY] = larger(found[SHARED_BY_SIMILARITY], both * head_like);
            if (support->tails[example] != tails[pair]) continue;
            found[SIMILAR_HEAD] = larger(found[SIMILAR_HEAD], head_like);
            found[SAME_NEIGHBORS] = larger(found[SAME_NEIGHBORS], head_shared[example * num_heads + index]);
        }
        for (int64_t place = 0; place < num_of_pair; place++) {
            int64_t feature = of_pair[place];
            if (found[features->quantities[feature]] == 0 || factor[feature] == 0) continue;
            out[feature] = (float)transformed(features, feature, found) * factor[feature];
        }
    }
}

/* Write the features of an episode, whose relation is hidden already. */
static void write_episode(const Graph *graph, Scratch *scratch, const Features *features, const double *relation_rarity,
                          double smoothing, const Episode *episode, Memory *memory) {
    int64_t num_heads = episode->num_heads, num_tails = episode->num_tails, size = episode->num_examples;
    int64_t hidden = episode->hidden.relation, num_of_pair = 0;
    int32_t *places = take(memory, num_heads * num_tails, sizeof(int32_t));
    int64_t *of_pair = take(memory, features->count, sizeof(int64_t)), *degrees = take(memory, num_heads, sizeof(int64_t));
    double *similarity = take(memory, size * num_heads, sizeof(double));
    double *shared = take(memory, size * num_heads, sizeof(double));
    double *block = take(memory, NUM_JOINS * num_tails, sizeof(double));
    float *factor = take(memory, features->count, sizeof(float));
    if (memory->has_failed) return;
    Evidence joins;
    for (size_t array = 0; array < NUM_JOINS; array++) ((double **)&joins)[array] = block + array * num_tails;
    for (int64_t feature = 0; feature < features->count; feature++)
        if (is_of_pair(features->quantities[feature])) of_pair[num_of_pair++] = feature;
    Examples examples = read_examples(graph, scratch, episode, smoothing, memory);
    if (memory->has_failed) return;
    compare_visible(graph, scratch, hidden, num_heads, episode->heads, size, examples.support.heads,
                    examples.head_profiles, similarity, shared, NULL, degrees);
    Tails tails = find_tails(graph, scratch, episode, &examples, features->count, memory, places);
    if (memory->has_failed) return;
    describe_tails(features, &examples.support, &tails);
    for (int64_t index = 0; index < num_heads; index++) {
        int64_t head = episode->heads[index], start = index * num_tails;
        double *factors = examples.factors;
        memset(block, 0, NUM_JOINS * num_tails * sizeof(double));
        if (measure_head(graph, scratch, hidden, &examples.rules, &examples.walk_rules, examples.link_shares,
                         relation_rarity, head, num_tails, episode->tails + start, joins)) {
            memory->has_failed = 1;
            return;
        }
        factors[HEAD_IS_HEAD] = factors[HEAD_IS_TAIL] = 0;
        for (int64_t example = 0; example < size; example++) {
            if (examples.support.heads[example] == head) factors[HEAD_IS_HEAD] = 1;
            if (examples.support.tails[example] == head) factors[HEAD_IS_TAIL] = 1;
        }
        factors[LOG_HEAD_DEGREE] = log1p((double)degrees[index]);
        write_head(features, &examples.support, factors, index, num_heads, similarity, shared, num_tails,
                   episode->tails + start, places + start, &tails, &joins, of_pair, num_of_pair, factor,
                   episode->out + start * features->count);
    }
}

/* Write the features of episodes. Return 0, or 1 without memory. */
int write_episodes(const Graph *graph, Scratch *scratch, const Features *features, const double *relation_rarity,
                   double smoothing, int64_t num_episodes, const Episode *episodes) {
    if (!is_usable(scratch)) return 1;
    int has_failed = 0;
    for (int64_t number = 0; number < num_episodes && !has_failed; number++) {
        Memory memory = {{NULL}, 0, 0};
        hide(scratch, &episodes[number].hidden, 1);
        write_episode(graph, scratch, features, relation_rarity, smoothing, episodes + number, &memory);
        hide(scratch, &episodes[number].hidden, -1);
        give_back(&memory);
        has_failed = memory.has_failed;
    }
    return has_failed;
}
