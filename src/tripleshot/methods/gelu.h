/* x * Phi(x), with the error function of Abramowitz and Stegun, 7.1.28: off by 3e-7 at most. Loops over it are turned
 * into vectors by the compiler. */

#include <math.h>
#include <stdint.h>

static inline float gelu_of(float x) {
    float u = fabsf(x), root = 3.8003575e-05f + u * (4.88906356e-05f + u * 5.382975e-06f);
    root = 1 + u * (0.049867347f + u * (0.0211410061f + u * (0.00327762632f + u * root)));
    for (int square = 0; square < 4; square++) root *= root;
    return (x > 0 ? x : 0) - u * 0.5f / root; /* 0.5 / root^16 is 1 - Phi(u) */
}

static inline void gelu(float *x, int64_t size) {
    for (int64_t i = 0; i < size; i++) x[i] = gelu_of(x[i]);
}

/* The same, and how much it grows with x: the derivative of what `gelu_of` computes, off by 2e-6 at most. */
static inline float gelu_and_slope(float x, float *slope) {
    union {
        float value;
        int32_t bits;
    } near = {fabsf(x)}, limit = {12}; /* past it nothing changes, and powers are so small that they are slow */
    near.bits = near.bits < limit.bits ? near.bits : limit.bits; /* floats above 0 have the order of their bits */
    float far = fabsf(x), u = near.value;
    float root = 3.8003575e-05f + u * (4.88906356e-05f + u * 5.382975e-06f);
    root = 1 + u * (0.049867347f + u * (0.0211410061f + u * (0.00327762632f + u * root)));
    float growth = 0.00983287896f + u * (0.00015201430f + u * (0.00024445318f + u * 3.229785e-05f));
    growth = 0.049867347f + u * (0.0422820122f + u * growth);
    float inverse = 1 / root, rest = inverse; /* 0.5 * inverse^16 is 1 - Phi(u) */
    for (int square = 0; square < 4; square++) rest *= rest;
    rest *= 0.5f;
    float below = rest - 16 * u * rest * inverse * growth; /* 1 - Phi(u) - u * phi(u) */
    *slope = 0.5f + copysignf(0.5f - below, x);
    return 0.5f * (x + far) - u * rest;
}
