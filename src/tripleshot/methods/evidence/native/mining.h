/* The rules that examples of an episode share, and the memory of the episode. */

#define FIRST_CAPACITY 1024 /* paths between examples; more are made room for */
#define MAX_PARTS 48

/* The memory of one episode, which is given back all at once. */
typedef struct {
    void *parts[MAX_PARTS];
    int num_parts, has_failed;
} Memory;

static void *take(Memory *memory, int64_t count, size_t size) {
    void *part = memory->num_parts < MAX_PARTS ? calloc(count > 0 ? count : 1, size) : NULL;
    if (part) memory->parts[memory->num_parts++] = part;
    else memory->has_failed = 1;
    return part;
}

static void give_back(Memory *memory) {
    while (memory->num_parts) free(memory->parts[--memory->num_parts]);
}

static int compare_keys(const void *first, const void *second) {
    int64_t a = *(const int64_t *)first, b = *(const int64_t *)second;
    return (a > b) - (a < b);
}

/* Return the path types that join examples, each example once, as path type * number of examples + example, ascending. */
static int64_t *find_joining(const Graph *graph, int64_t hidden, const Support *support, Memory *memory,
                             int64_t *has_common, int64_t *count) {
    int64_t size = support->count, capacity = FIRST_CAPACITY, found = 0;
    int64_t *owners, *keys;
    for (;; capacity = found) {
        owners = malloc(capacity * sizeof(int64_t)), keys = malloc(capacity * sizeof(int64_t));
        if (owners && keys)
            found = join_pairs(graph, hidden, size, support->heads, support->tails, capacity, owners, keys, has_common);
        if (!owners || !keys || found <= capacity) break;
        free(owners), free(keys);
    }
    int64_t *joining = owners && keys ? take(memory, found, sizeof(int64_t)) : NULL;
    *count = 0;
    if (joining) {
        for (int64_t path = 0; path < found; path++) keys[path] = keys[path] * size + owners[path];
        qsort(keys, found, sizeof(int64_t), compare_keys);
        for (int64_t path = 0; path < found; path++)
            if (!path || keys[path] != keys[path - 1]) joining[(*count)++] = keys[path];
    } else memory->has_failed = 1;
    free(owners), free(keys);
    return joining;
}

/* Count how often the path types that join examples are right: `mine_path_rules`. */
static Rules mine_rules(const Graph *graph, Scratch *scratch, const Support *support, const int64_t *joining,
                        int64_t num_joining, double smoothing, Memory *memory) {
    int64_t base = 2 * graph->num_relations + 1, size = support->count, count = 0;
    int64_t *first = take(memory, num_joining, sizeof(int64_t)), *second = take(memory, num_joining, sizeof(int64_t));
    int64_t *hits = take(memory, num_joining, sizeof(int64_t)), *reached = take(memory, num_joining, sizeof(int64_t));
    double *weights = take(memory, num_joining, sizeof(double));
    Rules rules = {0, first, second, weights};
    if (memory->has_failed) return rules;
    int64_t last = -1;
    for (int64_t path = 0; path < num_joining; path++) {
        int64_t path_type = joining[path] / size, example = joining[path] % size;
        if (support->heads[example] == support->tails[example]) continue;
        if (path_type != last) first[count] = path_type / base, second[count] = path_type % base - 1, count++;
        hits[count - 1]++;
        last = path_type;
    }
    rules.count = count;
    memory->has_failed |= count_reached(graph, scratch, &rules, size, support->heads, reached);
    for (int64_t rule = 0; rule < count; rule++) {
        int64_t at_least = reached[rule] > hits[rule] ? reached[rule] : hits[rule];
        weights[rule] = -log1p(-((double)hits[rule] / ((double)at_least + smoothing)));
    }
    return rules;
}

/* Collect the rules of three steps: `RuleWalks.mine`. */
static WalkRules mine_walk_rules(const Graph *graph, Scratch *scratch, int64_t hidden, const Support *support,
                                 Memory *memory) {
    int64_t most = graph->max_rules, width = 2 * graph->num_relations;
    int64_t *first = take(memory, most, sizeof(int64_t)), *second = take(memory, most, sizeof(int64_t));
    int64_t *third = take(memory, most, sizeof(int64_t));
    double *shares = take(memory, most, sizeof(double)), sum = 0;
    WalkRules rules = {0, first, second, third, shares};
    if (memory->has_failed) return rules;
    rules.count = mine_walks(graph, scratch, hidden, support->count, support->heads, support->tails, third, shares);
    memory->has_failed |= rules.count < 0;
    for (int64_t rule = 0; rule < rules.count; rule++) {
        first[rule] = third[rule] / width / width, second[rule] = third[rule] / width % width, third[rule] %= width;
        sum += shares[rule];
    }
    for (int64_t rule = 0; rule < rules.count; rule++) shares[rule] /= sum;
    return rules;
}
