/* Self-attention over packed contexts, and its gradients: what `packed_attention.py` computes in training.

Contexts stand one after another without padding. One head of one context is small enough for the cache: its queries
are turned feature by feature, so that one vector holds one feature of several queries. Probabilities are not kept for
the gradients but computed again from one number of each query. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "vectors.h"

static const float LOG2_E = 1.44269504f;

typedef struct { count heads, head_width, inner; } shape;

/* The tokens of the contexts, row by row; keys[c] to keys[c + 1] are context c's, and of those that ask, queries[c]. */
typedef struct {
    const float *query, *key_value; /* (queries, inner), and (keys, 2 inner): keys, then values */
    const count *keys, *queries;
} batch;

/* Room for one head of one context; `lanes` is the number of queries, `columns` the head's width, both rounded up. */
typedef struct {
    count lanes, columns;
    float *turned, *turned_gradient;      /* (head width, lanes) */
    float *query, *gradient;              /* (queries, columns) */
    float *weights, *weight_gradients;    /* (keys, lanes) */
    float *result;                        /* (keys or head width, lanes or columns) */
} workspace;

INLINE count rounded_up(count size) { return (size + LANES - 1) / LANES * LANES; }

/* out[r][c] = sum over k of rows[r * row_stride + k * step] * in[k][c], for `vectors` vectors of columns. */
INLINE void product_of(float *out, count out_stride, const float *rows, count row_stride, count step, count num_rows,
                       const float *in, count in_stride, const int vectors, count depth) {
    for (count first = 0; first < num_rows; first += FEW) {
        const float *some[FEW];
        vector sums[FEW * WIDEST];
        for (int r = 0; r < FEW; r++) some[r] = rows + smaller(first + r, num_rows - 1) * row_stride;
        multiply(sums, FEW, vectors, some, step, in, in_stride, depth);
        UNROLL for (int r = 0; r < FEW; r++) {
            if (first + r >= num_rows) break;
            UNROLL for (int v = 0; v < vectors; v++)
                ((anywhere *)(out + (first + r) * out_stride))[v] = sums[r * vectors + v];
        }
    }
}

/* The same for any number of columns, which is a multiple of LANES. */
ALONE void product(float *out, const float *rows, count row_stride, count step, count num_rows, const float *in,
                   count columns, count depth) {
    for (count c = 0; c < columns; c += WIDEST * LANES) {
        count left = (columns - c) / LANES;
        if (left >= WIDEST)
            product_of(out + c, columns, rows, row_stride, step, num_rows, in + c, columns, WIDEST, depth);
        else if (left == 2)
            product_of(out + c, columns, rows, row_stride, step, num_rows, in + c, columns, 2, depth);
        else
            product_of(out + c, columns, rows, row_stride, step, num_rows, in + c, columns, 1, depth);
    }
}

/* to[column][row] = from[row][column], the rest of each row of `to` zero. */
static void turn(const float *from, count stride, float *to, count lanes, count rows, count columns) {
    for (count c = 0; c < columns; c++) {
        for (count r = 0; r < rows; r++) to[c * lanes + r] = from[r * stride + c];
        for (count r = rows; r < lanes; r++) to[c * lanes + r] = 0;
    }
}

/* to[row][column] = from[row][column], the rest of each row of `to` zero. */
static void widen(const float *from, count stride, float *to, count columns, count rows, count width) {
    for (count r = 0; r < rows; r++) {
        memcpy(to + r * columns, from + r * stride, width * sizeof(float));
        memset(to + r * columns + width, 0, (columns - width) * sizeof(float));
    }
}

static void narrow(const float *from, count columns, float *to, count stride, count rows, count width) {
    for (count r = 0; r < rows; r++) memcpy(to + r * stride, from + r * columns, width * sizeof(float));
}

static void turn_back(const float *from, count lanes, float *to, count stride, count rows, count columns) {
    for (count r = 0; r < rows; r++)
        for (count c = 0; c < columns; c++) to[r * stride + c] = from[c * lanes + r];
}

/* Scores of all keys, as exponents of two. */
static void score(const workspace *w, const float *keys, count stride, count num_keys, count width) {
    product(w->weights, keys, stride, 1, num_keys, w->turned, w->lanes, width);
    float scale = LOG2_E / sqrtf((float)width);
    for (count i = 0; i < num_keys * w->lanes; i++) w->weights[i] *= scale;
}

/* Turn scores[key][query] into probabilities; `log_sums` is what their exponents are lowered by. */
static void normalize(float *scores, count num_keys, count lanes, float *log_sums) {
    for (count from = 0; from < lanes; from += LANES) {
        float *some = scores + from, most[LANES], sum[LANES] = {0};
        memcpy(most, some, sizeof most);
        for (count j = 1; j < num_keys; j++)
            for (int i = 0; i < LANES; i++) most[i] = some[j * lanes + i] > most[i] ? some[j * lanes + i] : most[i];
        for (count j = 0; j < num_keys; j++)
            for (int i = 0; i < LANES; i++) sum[i] += some[j * lanes + i] = power_of_two(some[j * lanes + i] - most[i]);
        for (int i = 0; i < LANES; i++) {
            log_sums[from + i] = most[i] + log2f(sum[i]);
            sum[i] = 1 / sum[i];
        }
        for (count j = 0; j < num_keys; j++)
            for (int i = 0; i < LANES; i++) some[j * lanes + i] *= sum[i];
    }
}

static float *take(float **room, count size) {
    float *taken = *room;
    *room += rounded_up(size);
    return taken;
}

/* Room for the largest of some contexts; NULL when there is no memory. */
static float *reserve(workspace *w, batch in, count first, count last, shape of) {
    count keys = 1, queries = 1, columns = rounded_up(of.head_width);
    for (count c = first; c < last; c++) {
        if (in.keys[c + 1] - in.keys[c] > keys) keys = in.keys[c + 1] - in.keys[c];
        if (in.queries[c + 1] - in.queries[c] > queries) queries = in.queries[c + 1] - in.queries[c];
    }
    count lanes = rounded_up(queries), longest = keys > of.head_width ? keys : of.head_width;
    count widest = lanes > columns ? lanes : columns;
    count size = 2 * of.head_width * lanes + 2 * queries * columns + 2 * keys * lanes + longest * widest + lanes;
    float *room = malloc((size + 8 * LANES) * sizeof(float)), *rest = room;
    if (!room) return NULL;
    w->columns = columns;
    w->turned = take(&rest, of.head_width * lanes), w->turned_gradient = take(&rest, of.head_width * lanes);
    w->query = take(&rest, queries * columns), w->gradient = take(&rest, queries * columns);
    w->weights = take(&rest, keys * lanes), w->weight_gradients = take(&rest, keys * lanes);
    w->result = take(&rest, longest * widest);
    return room;
}

/* Attend in the contexts from `first` to `last`; not zero when there is no memory.

out: shape (queries, inner). log_sums: heads times queries of them, context by context and head by head, for the gradients. */
int attend(const float *query, const float *key_value, const count *keys, const count *queries, count first, count last,
           count heads, count head_width, float *out, float *log_sums) {
    shape of = {heads, head_width, heads * head_width};
    batch in = {query, key_value, keys, queries};
    workspace w;
    float *room = reserve(&w, in, first, last, of);
    if (!room) return 1;
    count stride = 2 * of.inner;
    for (count c = first; c < last; c++)
        for (count h = 0; h < heads; h++) {
            count num_keys = keys[c + 1] - keys[c], num_queries = queries[c + 1] - queries[c], from = h * head_width;
            if (!num_queries) continue;
            const float *own_keys = key_value + keys[c] * stride + from;
            float *sums = w.turned_gradient; /* not needed here */
            w.lanes = rounded_up(num_queries);
            turn(query + queries[c] * of.inner + from, of.inner, w.turned, w.lanes, num_queries, head_width);
            score(&w, own_keys, stride, num_keys, head_width);
            normalize(w.weights, num_keys, w.lanes, sums);
            memcpy(log_sums + queries[c] * heads + h * num_queries, sums, num_queries * sizeof(float));
            product(w.result, own_keys + of.inner, 1, stride, head_width, w.weights, w.lanes, num_keys);
            turn_back(w.result, w.lanes, out + queries[c] * of.inner + from, of.inner, num_queries, head_width);
        }
    free(room);
    return 0;
}

/* The gradients of what `attend` computed from the same; not zero when there is no memory.

gradient: shape (queries, inner), of the output. Those of the queries and of the keys and values are written. */
int attend_backward(const float *query, const float *key_value, const count *keys, const count *queries, count first,
                    count last, count heads, count head_width, const float *log_sums, const float *gradient,
                    float *of_query, float *of_key_value) {
    shape of = {heads, head_width, heads * head_width};
    batch in = {query, key_value, keys, queries};
    workspace w;
    float *room = reserve(&w, in, first, last, of);
    if (!room) return 1;
    count stride = 2 * of.inner;
    float share = 1 / sqrtf((float)head_width);
    for (count c = first; c < last; c++)
        for (count h = 0; h < heads; h++) {
            count num_keys = keys[c + 1] - keys[c], num_queries = queries[c + 1] - queries[c], from = h * head_width;
            const float *own_keys = key_value + keys[c] * stride + from;
            const float *own_query = query + queries[c] * of.inner + from;
            const float *own_gradient = gradient + queries[c] * of.inner + from;
            const float *sums = log_sums + queries[c] * heads + h * num_queries;
            float *to_keys = of_key_value + keys[c] * stride + from;
            count lanes = w.lanes = rounded_up(num_queries);
            turn(own_query, of.inner, w.turned, lanes, num_queries, head_width);
            turn(own_gradient, of.inner, w.turned_gradient, lanes, num_queries, head_width);
            widen(own_query, of.inner, w.query, w.columns, num_queries, head_width);
            widen(own_gradient, of.inner, w.gradient, w.columns, num_queries, head_width);
            score(&w, own_keys, stride, num_keys, head_width);
            product(w.weight_gradients, own_keys + of.inner, stride, 1, num_keys, w.turned_gradient, lanes, head_width);
            for (count i = 0; i < lanes; i += LANES) {
                float lowered[LANES] = {0}, mean[LANES] = {0};
                for (int l = 0; l < LANES; l++) lowered[l] = i + l < num_queries ? sums[i + l] : 0;
                for (count j = 0; j < num_keys; j++) {
                    float *weights = w.weights + j * lanes + i, *gradients = w.weight_gradients + j * lanes + i;
                    for (int l = 0; l < LANES; l++) {
                        weights[l] = power_of_two(weights[l] - lowered[l]);
                        mean[l] += weights[l] * gradients[l];
                    }
                }
                for (count j = 0; j < num_keys; j++) {
                    float *weights = w.weights + j * lanes + i, *gradients = w.weight_gradients + j * lanes + i;
                    for (int l = 0; l < LANES; l++) gradients[l] = weights[l] * (gradients[l] - mean[l]) * share;
                }
            }
            product(w.result, own_keys, 1, stride, head_width, w.weight_gradients, lanes, num_keys);
            turn_back(w.result, lanes, of_query + queries[c] * of.inner + from, of.inner, num_queries, head_width);
            product(w.result, w.weight_gradients, lanes, 1, num_keys, w.query, w.columns, num_queries);
            narrow(w.result, w.columns, to_keys, stride, num_keys, head_width);
            product(w.result, w.weights, lanes, 1, num_keys, w.gradient, w.columns, num_queries);
            narrow(w.result, w.columns, to_keys + of.inner, stride, num_keys, head_width);
        }
    free(room);
    return 0;
}
