/* What a step teaches a network of one hidden layer: the loss of the true tail among wrong ones, and its gradient.
 *
 * A query goes forward and back at once, while what its hidden layer says is in the cache. Vectors are those of GCC and
 * Clang. A product keeps ROWS rows of 2 vectors in registers. */

#define ROWS 6
#define TILE 16 /* units of the hidden layer that a product computes at once; the width is a multiple of it */

#define NOTHING 1e-12f /* a share of a gradient that is lost in rounding, and whose products would be slow */

typedef float vector __attribute__((vector_size(32)));
typedef vector anywhere __attribute__((aligned(4), may_alias)); /* a vector that begins at any float */

/* sums[r] += sum over k of rows[r * row_step + k * step] * in[k * stride], a tile wide; sums stand `stride` apart. */
static inline __attribute__((always_inline)) void multiply_rows(const int num_rows, const float *rows, int64_t row_step,
                                                                int64_t step, const float *in, int64_t stride,
                                                                int64_t depth, float *sums) {
    vector kept[ROWS][2];
    for (int r = 0; r < num_rows; r++) {
        kept[r][0] = *(const anywhere *)(sums + r * stride);
        kept[r][1] = *(const anywhere *)(sums + r * stride + TILE / 2);
    }
    for (int64_t k = 0; k < depth; k++) {
        vector low = *(const anywhere *)(in + k * stride), high = *(const anywhere *)(in + k * stride + TILE / 2);
#pragma GCC unroll 8
        for (int r = 0; r < num_rows; r++) {
            float value = rows[r * row_step + k * step];
            kept[r][0] += value * low;
            kept[r][1] += value * high;
        }
    }
    for (int r = 0; r < num_rows; r++) {
        *(anywhere *)(sums + r * stride) = kept[r][0];
        *(anywhere *)(sums + r * stride + TILE / 2) = kept[r][1];
    }
}

static void multiply_all(int64_t num_rows, const float *rows, int64_t row_step, int64_t step, const float *in,
                         int64_t stride, int64_t depth, float *sums) {
    for (int64_t tile = 0; tile < stride; tile += TILE) {
        int64_t row = 0;
        for (; row + ROWS <= num_rows; row += ROWS)
            multiply_rows(ROWS, rows + row * row_step, row_step, step, in + tile, stride, depth, sums + row * stride + tile);
        for (; row < num_rows; row++)
            multiply_rows(1, rows + row * row_step, row_step, step, in + tile, stride, depth, sums + row * stride + tile);
    }
}

/* Turn what the first layer says into what the second one sees, and return in `slopes` how much that grows with it. */
static void activate(float *restrict states, float *restrict slopes, int64_t size) {
    for (int64_t i = 0; i < size; i++) states[i] = gelu_and_slope(states[i], slopes + i);
}

/* Return the loss of one query, and in `scores` its gradient by each score; `offset` is added to those of wrong tails. */
static double softmax_loss(float *scores, int64_t size, float offset) {
    double largest = scores[0], sum = 0, positive = scores[0];
    for (int64_t i = 1; i < size; i++) scores[i] += offset, largest = scores[i] > largest ? scores[i] : largest;
    for (int64_t i = 0; i < size; i++) scores[i] = expf((float)(scores[i] - largest)), sum += scores[i];
    for (int64_t i = 0; i < size; i++) scores[i] = scores[i] < NOTHING ? 0 : (float)(scores[i] / sum);
    scores[0] -= 1;
    return log(sum) + largest - positive;
}

typedef struct {
    int64_t num_queries, num_tails, num_features, width; /* queries of a group, tails of a query, the true one first */
    const float *weights; /* [num_features][width], zero past the units that there are, as in the other two */
    const float *bias;    /* [width] */
    const float *out;     /* [width] */
} Network;

/* Add up the losses of the queries of some groups, and their gradients.
 *
 * `features` is [num_groups][num_queries][num_tails][num_features], `offsets` and `losses` are [num_groups], `gradients` is
 * [num_groups][num_features + 2][width]: by the weights, by the bias and by the second layer; it is zero at first. Return
 * 0, or 1 without memory. */
int learn(const Network *network, int64_t num_groups, const float *features, const float *offsets, double *losses,
          float *gradients) {
    int64_t width = network->width, size = network->num_tails, depth = network->num_features;
    float *restrict states = malloc(size * width * sizeof(float)), *restrict slopes = malloc(size * width * sizeof(float));
    float *restrict scores = malloc(size * sizeof(float));
    int has_failed = !states || !slopes || !scores;
    for (int64_t query = 0; query < num_groups * network->num_queries && !has_failed; query++) {
        int64_t group = query / network->num_queries;
        const float *seen = features + query * size * depth, *restrict out = network->out;
        float *by_weights = gradients + group * (depth + 2) * width;
        float *restrict by_bias = by_weights + depth * width, *restrict by_out = by_bias + width;
        for (int64_t tail = 0; tail < size; tail++) memcpy(states + tail * width, network->bias, width * sizeof(float));
        multiply_all(size, seen, depth, 1, network->weights, width, depth, states);
        activate(states, slopes, size * width);
        for (int64_t tail = 0; tail < size; tail++) {
            vector sums = {0};
            for (int64_t unit = 0; unit < width; unit += TILE / 2)
                sums += *(const anywhere *)(states + tail * width + unit) * *(const anywhere *)(out + unit);
            scores[tail] = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
        }
        losses[group] += softmax_loss(scores, size, offsets[group]);
        for (int64_t tail = 0; tail < size; tail++) {
            float share = scores[tail], *restrict state = states + tail * width, *restrict slope = slopes + tail * width;
            for (int64_t unit = 0; unit < width; unit++) {
                by_out[unit] += share * state[unit];
                slope[unit] *= share * out[unit];
                by_bias[unit] += slope[unit];
            }
        }
        multiply_all(depth, seen, 1, depth, slopes, width, size, by_weights);
    }
    free(states), free(slopes), free(scores);
    return has_failed;
}
