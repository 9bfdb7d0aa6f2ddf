/* What clang-cl needs of this header to compile ours without Microsoft's. */
#ifndef STUB_STDLIB_H
#define STUB_STDLIB_H
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif
void* malloc(size_t bytes);
void free(void* pointer);
#ifdef __cplusplus
}
#endif
#endif
