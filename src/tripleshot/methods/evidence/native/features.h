/* Features of pairs from what was measured, and scores from features. */

#define LANES 8 /* sums that are kept apart, so that they make a vector */

/* What features are made of, as `AskedEvidence.quantities` names and defines it. */
enum {
    NUM_LINKS, LINK_SHARE, LINK_EXCLUSIVENESS, TURNED_EXCLUSIVENESS, LINK_RARITY, LINK_OVERLAP, IS_HEAD,
    PATH_WEIGHT, PATH_PROBABILITY, PATH_RETURNING, COMMON_WEIGHT, WALK_WEIGHT, WALK_PROBABILITY, WALK_RETURNING,
    WALK_BY_DEGREE,
    TAIL_SHARE, TAIL_IS_HEAD, SIMILAR_HEAD, SAME_NEIGHBORS, MEAN_SIMILARITY, LARGEST_SIMILARITY, SHARED_BY_DEGREE,
    SHARED_SHARE, SHARED_BY_SIMILARITY, TYPE_SHARE, LARGEST_TYPE_SHARE, RARE_TYPE_SHARE, ONE, NUM_QUANTITIES
};
const char *QUANTITIES =
    "num_links link_share link_exclusiveness turned_exclusiveness link_rarity link_overlap is_head "
    "path_weight path_probability path_returning common_weight walk_weight walk_probability walk_returning "
    "walk_by_degree "
    "tail_share tail_is_head similar_head same_neighbors mean_similarity largest_similarity shared_by_degree "
    "shared_share shared_by_similarity type_share largest_type_share rare_type_share one";

enum { VALUE, POSITIVE, LOGARITHM };
const char *TRANSFORMS = "value positive logarithm";

/* What they are multiplied by, as `AskedEvidence.query_quantities` names and defines it. */
enum {
    LINKED_SHARE, IS_UNLINKED, COMMON_SHARE, DISTINCT_TAILS, REPEATED_TAILS, DISTINCT_HEADS, HEAD_IS_HEAD, HEAD_IS_TAIL,
    LOG_HEAD_DEGREE, TYPED_SHARE, LOOP_SHARE, ALWAYS, NUM_FACTORS
};
const char *FACTORS =
    "linked_share is_unlinked common_share distinct_tails repeated_tails distinct_heads head_is_head head_is_tail "
    "log_head_degree typed_share loop_share always";

typedef struct {
    int64_t count;
    const int64_t *quantities, *transforms, *factors;
    const double *scales;
} Features;

/* Examples, and how a head and a tail compare with each of them; the numbers of an example stand `stride` apart. */
typedef struct {
    int64_t count;
    const int64_t *heads, *tails;
    const double *type_rarity; /* of the types of each tail */
} Support;

static double larger(double a, double b) { return a > b ? a : b; }

/* Add up what a tail has of the types of an example's tail; the sums are divided by the number of examples at the end. */
static void add_types(const Support *support, int64_t example, double types, double *found) {
    found[TYPE_SHARE] += types, found[RARE_TYPE_SHARE] += types * support->type_rarity[example];
    found[LARGEST_TYPE_SHARE] = larger(found[LARGEST_TYPE_SHARE], types);
}

static void join(const Evidence *joins, int64_t pair, double degree, double *found) {
    found[NUM_LINKS] = joins->num_links[pair], found[LINK_SHARE] = joins->link_share[pair];
    found[LINK_EXCLUSIVENESS] = joins->exclusiveness[pair], found[LINK_RARITY] = joins->rarity[pair];
    found[TURNED_EXCLUSIVENESS] = joins->turned_exclusiveness[pair], found[LINK_OVERLAP] = joins->overlap[pair];
    found[IS_HEAD] = joins->is_head[pair];
    found[PATH_WEIGHT] = joins->path[pair], found[PATH_PROBABILITY] = joins->path_probability[pair];
    found[PATH_RETURNING] = joins->path_returning[pair], found[COMMON_WEIGHT] = joins->common[pair];
    found[WALK_WEIGHT] = joins->walk[pair], found[WALK_PROBABILITY] = joins->walk_probability[pair];
    found[WALK_RETURNING] = joins->walk_returning[pair];
    found[WALK_BY_DEGREE] = found[WALK_WEIGHT] / sqrt(larger(degree, 1));
    found[ONE] = 1;
}

/* log(1 + x) for x >= 0, to 1e-13 of it, at a fraction of what log1p costs: a power of two, and a series for what is left,
 * which is between the roots of 1/2 and 2. */
static inline double log_plus_one(double x) {
    union {
        double value;
        uint64_t bits;
    } left = {1 + x};
    double sum = left.value, rounded = x - (sum - 1);
    uint64_t power = (left.bits - 0x3FE6A09E667F3BCDull) >> 52;
    left.bits -= power << 52;
    double s = (left.value - 1) / (left.value + 1), q = s * s;
    double series = 1 + q * (1. / 3 + q * (1. / 5 + q * (1. / 7 + q * (1. / 9 + q * (1. / 11 + q * (1. / 13 + q / 15))))));
    return (double)(int64_t)power * 0.69314718055994531 + 2 * s * series + rounded / sum;
}

static double transformed(const Features *features, int64_t feature, const double *found) {
    double value = found[features->quantities[feature]] * features->scales[feature];
    if (features->transforms[feature] == VALUE || value == 0) return value;
    return features->transforms[feature] == POSITIVE ? value > 0 : log_plus_one(value);
}

/* Write the features of pairs: `rows` says which head each tail belongs to, `factors` is [num_heads][features->count],
 * likenesses are [support->count][num_tails] and [support->count][num_heads], `out` is [num_tails][features->count]. */
void write_features(const Features *features, const Support *support, int64_t num_heads, const float *factors,
                    const double *head_similarity, const double *head_shared, int64_t num_tails, const int64_t *tails,
                    const int64_t *rows, Evidence joins, const int64_t *degrees, const double *similarity,
                    const double *shared, const double *types, float *out) {
    for (int64_t pair = 0; pair < num_tails; pair++) {
        double found[NUM_QUANTITIES] = {0}, root = sqrt(larger((double)degrees[pair], 1));
        join(&joins, pair, (double)degrees[pair], found);
        for (int64_t example = 0; example < support->count; example++) {
            double like = similarity[example * num_tails + pair], both = shared[example * num_tails + pair];
            double head_like = head_similarity[example * num_heads + rows[pair]];
            found[MEAN_SIMILARITY] += like, found[SHARED_BY_DEGREE] += both, found[SHARED_SHARE] += both > 0;
            found[LARGEST_SIMILARITY] = larger(found[LARGEST_SIMILARITY], like);
            found[SHARED_BY_SIMILARITY] = larger(found[SHARED_BY_SIMILARITY], both * head_like);
            add_types(support, example, types[example * num_tails + pair], found);
            if (support->heads[example] == tails[pair]) found[TAIL_IS_HEAD] = 1;
            if (support->tails[example] != tails[pair]) continue;
            found[TAIL_SHARE] += 1;
            found[SIMILAR_HEAD] = larger(found[SIMILAR_HEAD], head_like);
            found[SAME_NEIGHBORS] = larger(found[SAME_NEIGHBORS], head_shared[example * num_heads + rows[pair]]);
        }
        double count = (double)support->count;
        found[MEAN_SIMILARITY] /= count, found[TAIL_SHARE] /= count, found[SHARED_SHARE] /= count;
        found[TYPE_SHARE] /= count, found[RARE_TYPE_SHARE] /= count;
        found[SHARED_BY_DEGREE] /= count * root;
        const float *factor = factors + rows[pair] * features->count;
        for (int64_t feature = 0; feature < features->count; feature++)
            out[pair * features->count + feature] = factor[feature] == 0 ? 0 :
                (float)transformed(features, feature, found) * factor[feature];
    }
}

/* Score the tails of one head by a network of one hidden layer, whose first layer is added up from parts.
 *
 * A row of `codes` has `stride` numbers: `width` that the first layer says of the tail, its degree, and the weight of the
 * neighbors that it has in common with each example's tail. `start` is what the first layer says of the head. `features`
 * are those of the pair, `factors` what they are multiplied by for this head, `weights` [features->count][width] the
 * first layer's; they are looked at only where something speaks for the tail. Return 0, or 1 without memory. */
int score_tails(const Features *features, const Support *support, const float *factors, const double *head_similarity,
                const double *head_shared, int64_t num_tails, const int64_t *tails, Evidence joins, int64_t width,
                const float *codes, int64_t stride, const int32_t *rows, const float *start, const float *weights,
                const float *out, float *scores) {
    float *restrict states = malloc((width + 1) * sizeof(float));
    if (!states) return 1;
    for (int64_t tail = 0; tail < num_tails; tail++) {
        const float *code = codes + rows[tail] * stride, *shared = code + width + 1;
        double found[NUM_QUANTITIES] = {0};
        int speaks = is_reached(&joins, tail);
        for (int64_t unit = 0; unit < width; unit++) states[unit] = code[unit] + start[unit];
        for (int64_t example = 0; example < support->count; example++) {
            if (shared[example] > 0) {
                speaks = 1;
                found[SHARED_BY_SIMILARITY] =
                    larger(found[SHARED_BY_SIMILARITY], shared[example] * head_similarity[example]);
            }
            if (support->tails[example] != tails[tail]) continue;
            speaks = 1;
            found[TAIL_SHARE] += 1 / (double)support->count;
            found[SIMILAR_HEAD] = larger(found[SIMILAR_HEAD], head_similarity[example]);
            found[SAME_NEIGHBORS] = larger(found[SAME_NEIGHBORS], head_shared[example]);
        }
        if (speaks) {
            join(&joins, tail, code[width], found);
            for (int64_t feature = 0; feature < features->count; feature++) {
                float value = factors[feature] == 0 ? 0 : (float)transformed(features, feature, found) * factors[feature];
                if (value == 0) continue;
                const float *weight = weights + feature * width;
                for (int64_t unit = 0; unit < width; unit++) states[unit] += value * weight[unit];
            }
        }
        gelu(states, width);
        float sums[LANES] = {0}, sum = 0;
        int64_t unit = 0;
        for (; unit + LANES <= width; unit += LANES)
            for (int lane = 0; lane < LANES; lane++) sums[lane] += out[unit + lane] * states[unit + lane];
        for (; unit < width; unit++) sum += out[unit] * states[unit];
        for (int lane = 0; lane < LANES; lane++) sum += sums[lane];
        scores[tail] = sum;
    }
    free(states);
    return 0;
}
