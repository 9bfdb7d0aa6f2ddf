/* what the intrinsics of clang include; enough for a compile check */
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif
void* _aligned_malloc(size_t n, size_t a);
void _aligned_free(void* p);
#ifdef __cplusplus
}
#endif
