/* What clang-cl needs of this header to compile ours without Microsoft's. */
#ifndef STUB_MATH_H
#define STUB_MATH_H
#ifdef __cplusplus
extern "C" {
#endif
double sqrt(double x);
double fabs(double x);
float sqrtf(float x);
float fabsf(float x);
#ifdef __cplusplus
}
#endif
#endif
