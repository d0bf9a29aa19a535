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
