/* Vectors of floats, and what attention in the encoder and in training is made of.

Vectors are those of GCC and Clang; their width is the machine's. */

#include <stdint.h>

/* LANES floats make a vector. A product keeps ROWS rows of 2 vectors in registers, or FEW of WIDEST. */
#if defined(__AVX512F__)
enum { LANES = 16, ROWS = 10, WIDEST = 3 };
#elif defined(__AVX__)
enum { LANES = 8, ROWS = 5, WIDEST = 2 };
#elif defined(__aarch64__)
enum { LANES = 4, ROWS = 10, WIDEST = 3 };
#else
enum { LANES = 4, ROWS = 5, WIDEST = 2 };
#endif
enum { FEW = 5, CACHE_LINE = 16 /* floats */ };

typedef float vector __attribute__((vector_size(4 * LANES)));
typedef vector anywhere __attribute__((aligned(4), may_alias)); /* a vector that begins at any float */

#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif
#define INLINE static inline __attribute__((always_inline))
#define ALONE static __attribute__((noinline)) /* inlined further, it would run out of registers */

typedef int64_t count;

INLINE count smaller(count a, count b) { return a < b ? a : b; }

/* sums[r][v] = sum over k of rows[r][k * step] * in[k][v]: a few features of a few vectors of tokens, in registers. */
INLINE void multiply(vector *sums, const int num_rows, const int vectors, const float *const *rows, count step,
                     const float *in, count stride, count depth) {
    UNROLL for (int i = 0; i < num_rows * vectors; i++) sums[i] = (vector){0};
    for (count k = 0; k < depth; k++, in += stride) {
        UNROLL for (int r = 0; r < num_rows; r++) {
            float weight = rows[r][k * step];
            UNROLL for (int v = 0; v < vectors; v++)
                sums[r * vectors + v] += weight * *(const anywhere *)(in + v * LANES);
        }
    }
}

/* 2 to the x for x <= 0, to 2e-7: a polynomial of the fraction, and the whole number n added to the exponent's bits. */
INLINE float power_of_two(float x) {
    union {
        float value;
        uint32_t bits;
    } shifted, power;
    x = x < -126 ? -126 : x;
    shifted.value = x + 12582912.0f; /* 1.5 * 2^23 leaves no room for a fraction: the lowest bits are n */
    float f = x - (shifted.value - 12582912.0f);
    power.value = 0.00967151287f + f * 0.00132647239f;
    power.value = 1 + f * (0.693146978f + f * (0.240222421f + f * (0.0555073375f + f * power.value)));
    power.bits += shifted.bits << 23;
    return power.value;
}
