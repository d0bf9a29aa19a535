/* The encoder's blocks, over tiles of tokens that stay in the cache: what `Encoder.forward` computes in eval mode.

A tile holds whole contexts, some 300 tokens. Inside it states stand feature by feature, `x[feature * stride + token]`:
one vector holds one feature of several tokens, so that any width works, weights are read as torch keeps them, and
norms and softmax never add up within a vector. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gelu.h"
#include "vectors.h"

enum { COLUMNS = 2 * LANES, TILE = 320 /* tokens */ };

/* A linear layer or a norm, as torch keeps it: weight of shape (out, in) or (width,), and bias. */
typedef struct { const float *weight, *bias; } layer;

/* A block's layers in the order in which `native/__init__.py` lists them. */
typedef struct {
    layer query, key_value, attention_output, attention_norm, widen, narrow, output_norm;
} block;

typedef struct {
    count width, heads, head_width, inner;
    float epsilon;
} shape;

/* A matrix of features by tokens. */
typedef struct { float *at; count stride; } states;

/* Which tokens belong together: keys[c] to keys[c + 1] are context c's, and of those that ask, queries[c] and on. */
typedef struct {
    const count *keys, *queries;
    count contexts;
} grouping;

INLINE float *feature(states x, count index) { return x.at + index * x.stride; }

/* out = weight * in + bias, or out += that, for `vectors` vectors of tokens. */
INLINE void linear_to(states in, states out, layer to, count depth, count features, const int vectors, int add) {
    for (count first = 0; first < features; first += ROWS) {
        const float *rows[ROWS];
        vector sums[ROWS * 2];
        for (int r = 0; r < ROWS; r++) rows[r] = to.weight + depth * smaller(first + r, features - 1);
        multiply(sums, ROWS, vectors, rows, 1, in.at, in.stride, depth);
        UNROLL for (int r = 0; r < ROWS; r++) {
            if (first + r >= features) break;
            anywhere *place = (anywhere *)feature(out, first + r);
            UNROLL for (int v = 0; v < vectors; v++) {
                vector sum = sums[r * vectors + v] + to.bias[first + r];
                if (add) sum += place[v];
                place[v] = sum;
            }
        }
    }
}

/* The same for the next COLUMNS tokens, or those that are left. */
ALONE void linear(states in, states out, layer to, count depth, count features, count left, int add) {
    if (left > LANES) linear_to(in, out, to, depth, features, 2, add);
    else linear_to(in, out, to, depth, features, 1, add);
}

/* Layer norm of each of COLUMNS tokens, in place. */
static void normalize(states x, layer norm, shape of) {
    for (int v = 0; v < 2; v++, x.at += LANES) {
        vector mean = {0}, variance = {0};
        for (count k = 0; k < of.width; k++) mean += *(anywhere *)feature(x, k);
        mean /= (float)of.width;
        for (count k = 0; k < of.width; k++) {
            vector apart = *(anywhere *)feature(x, k) - mean;
            variance += apart * apart;
        }
        variance = variance / (float)of.width + of.epsilon;
        vector scale;
        for (int i = 0; i < LANES; i++) scale[i] = 1 / sqrtf(variance[i]);
        for (count k = 0; k < of.width; k++) {
            anywhere *place = (anywhere *)feature(x, k);
            *place = (*place - mean) * scale * norm.weight[k] + norm.bias[k];
        }
    }
}

/* Turn scores[key][query] into powers of two, and give what to multiply by for them to sum to one. */
INLINE void softmax(float *scores, count keys, const int queries, float scale, float *share) {
    float most[WIDEST * LANES], sum[WIDEST * LANES] = {0};
    memcpy(most, scores, queries * sizeof(float));
    for (count j = 1; j < keys; j++)
        for (int i = 0; i < queries; i++)
            most[i] = scores[j * queries + i] > most[i] ? scores[j * queries + i] : most[i];
    for (count j = 0; j < keys; j++)
        for (int i = 0; i < queries; i++) {
            float power = power_of_two((scores[j * queries + i] - most[i]) * scale);
            scores[j * queries + i] = power;
            sum[i] += power;
        }
    for (int i = 0; i < queries; i++) share[i] = 1 / sum[i];
}

/* One head within one context: `vectors` vectors of queries attend to all of its keys. */
INLINE void attend_to(states queries, states keys, states values, states out, count num_keys, count width,
                      const int vectors, float *scores) {
    const float *rows[FEW];
    vector sums[FEW * WIDEST];
    float share[WIDEST * LANES];
    for (count first = 0; first < num_keys; first += FEW) {
        for (int r = 0; r < FEW; r++) rows[r] = keys.at + smaller(first + r, num_keys - 1);
        multiply(sums, FEW, vectors, rows, keys.stride, queries.at, queries.stride, width);
        UNROLL for (int i = 0; i < FEW * vectors; i++) ((anywhere *)scores)[first * vectors + i] = sums[i];
    }
    const float log2_e = 1.44269504f;
    softmax(scores, num_keys, vectors * LANES, log2_e / sqrtf((float)width), share);
    for (count first = 0; first < width; first += FEW) {
        for (int r = 0; r < FEW; r++) rows[r] = feature(values, smaller(first + r, width - 1));
        multiply(sums, FEW, vectors, rows, 1, scores, vectors * LANES, num_keys);
        UNROLL for (int r = 0; r < FEW; r++) {
            if (first + r >= width) break;
            anywhere *place = (anywhere *)feature(out, first + r);
            UNROLL for (int v = 0; v < vectors; v++) place[v] = sums[r * vectors + v] * ((anywhere *)share)[v];
        }
    }
}

/* The same for the next WIDEST vectors of queries, or those that are left. */
ALONE void attend(states queries, states keys, states values, states out, count num_keys, count width, count left,
                  float *scores) {
    if (left > (WIDEST - 1) * LANES) attend_to(queries, keys, values, out, num_keys, width, WIDEST, scores);
    else if (left > LANES) attend_to(queries, keys, values, out, num_keys, width, 2, scores);
    else attend_to(queries, keys, values, out, num_keys, width, 1, scores);
}

INLINE states part(states x, count first_feature, count token) {
    return (states){feature(x, first_feature) + token, x.stride};
}

/* Attention in every context and head. The last vector of a context runs into the next one, which is written later. */
static void mix(states queries, states key_values, states mixed, grouping in, shape of, float *scores) {
    for (count c = 0; c < in.contexts; c++)
        for (count head = 0; head < of.heads; head++)
            for (count query = in.queries[c]; query < in.queries[c + 1]; query += WIDEST * LANES) {
                count first = head * of.head_width, key = in.keys[c];
                attend(part(queries, first, query), part(key_values, first, key),
                       part(key_values, of.inner + first, key), part(mixed, first, query), in.keys[c + 1] - key,
                       of.head_width, in.queries[c + 1] - query, scores);
            }
}

/* Room for one tile, and for one block of tokens while it is widened. */
typedef struct {
    states tokens, read, queries, key_values, mixed, hidden;
    float *scores;
} workspace;

/* One block: new states of `asking`, in place, which hears all `tokens`. */
static void run_block(const block *b, states tokens, states asking, grouping in, shape of, const workspace *w) {
    count num_tokens = in.keys[in.contexts], num_asking = in.queries[in.contexts];
    for (count t = 0; t < num_tokens; t += COLUMNS)
        linear(part(tokens, 0, t), part(w->key_values, 0, t), b->key_value, of.width, 2 * of.inner, num_tokens - t, 0);
    for (count t = 0; t < num_asking; t += COLUMNS)
        linear(part(asking, 0, t), part(w->queries, 0, t), b->query, of.width, of.inner, num_asking - t, 0);
    mix(w->queries, w->key_values, w->mixed, in, of, w->scores);
    for (count t = 0; t < num_asking; t += COLUMNS) {
        states some = part(asking, 0, t);
        linear(part(w->mixed, 0, t), some, b->attention_output, of.inner, of.width, num_asking - t, 1);
        normalize(some, b->attention_norm, of);
        linear(some, w->hidden, b->widen, of.width, 4 * of.width, num_asking - t, 0);
        gelu(w->hidden.at, 4 * of.width * COLUMNS);
        linear(w->hidden, some, b->narrow, 4 * of.width, of.width, num_asking - t, 1);
        normalize(some, b->output_norm, of);
    }
}

/* to[column][row] = from[row][column], in strips that keep the lines they touch in the cache. */
static void transpose(const float *from, count from_stride, float *to, count to_stride, count rows, count columns) {
    for (count strip = 0; strip < rows; strip += CACHE_LINE) {
        count end = smaller(strip + CACHE_LINE, rows);
        for (count c = 0; c < columns; c++)
            for (count r = strip; r < end; r++) to[c * to_stride + r] = from[r * from_stride + c];
    }
}

static states take(float **room, count features, count stride) {
    states taken = {*room, stride};
    *room += features * stride;
    return taken;
}

/* Final states at `read`, sorted positions among the packed tokens; not zero when there is no memory.

tokens: shape (starts[contexts], width), the contexts one after another; starts: shape (contexts + 1,);
out: shape (num_read, width). */
int encode(const float *tokens, const count *starts, count contexts, const count *read, count num_read,
           const block *blocks, count layers, count width, count heads, float epsilon, float *out) {
    shape of = {width, heads, (width + heads - 1) / heads, 0, epsilon};
    of.inner = heads * of.head_width;
    count longest = 0;
    for (count c = 0; c < contexts; c++)
        if (starts[c + 1] - starts[c] > longest) longest = starts[c + 1] - starts[c];
    count lines = ((longest > TILE ? longest : TILE) + COLUMNS) / CACHE_LINE + 1;
    count stride = (lines | 1) * CACHE_LINE; /* an odd number of lines, lest all features share a few places in cache */
    count size = (2 * width + 4 * of.inner) * stride + 4 * width * COLUMNS + (longest + FEW) * WIDEST * LANES;
    size = (size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE * sizeof(float);
    float *room = aligned_alloc(CACHE_LINE * sizeof(float), size), *rest = room;
    count *places = malloc(2 * (contexts + 1) * sizeof(count));
    if (!room || !places) return free(room), free(places), 1;
    memset(room, 0, size);
    workspace w = {.tokens = take(&rest, width, stride), .read = take(&rest, width, stride)};
    w.queries = take(&rest, of.inner, stride);
    w.key_values = take(&rest, 2 * of.inner, stride);
    w.mixed = take(&rest, of.inner, stride);
    w.hidden = take(&rest, 4 * width, COLUMNS);
    w.scores = rest;
    count *keys = places, *queries = places + contexts + 1, next_read = 0;
    for (count context = 0; context < contexts;) {
        count first = starts[context], first_read = next_read;
        grouping all = {keys, keys, 0}, asked = {keys, queries, 0};
        keys[0] = queries[0] = 0;
        do {
            count end = starts[++context];
            while (next_read < num_read && read[next_read] < end) next_read++;
            asked.contexts = ++all.contexts;
            keys[all.contexts] = end - first;
            queries[all.contexts] = next_read - first_read;
        } while (context < contexts && starts[context + 1] - first <= TILE);
        transpose(tokens + first * width, width, w.tokens.at, stride, keys[all.contexts], width);
        for (count l = 0; l < layers - 1; l++) run_block(&blocks[l], w.tokens, w.tokens, all, of, &w);
        for (count k = 0; k < width; k++)
            for (count r = first_read; r < next_read; r++)
                feature(w.read, k)[r - first_read] = feature(w.tokens, k)[read[r] - first];
        run_block(&blocks[layers - 1], w.tokens, w.read, asked, of, &w);
        transpose(w.read.at, stride, out + first_read * width, width, width, next_read - first_read);
    }
    free(room);
    free(places);
    return 0;
}
