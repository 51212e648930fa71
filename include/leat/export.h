// Symbol visibility. The library is built with hidden symbols; only what carries LEAT_API leaves
// libleat.so.
#pragma once

#if defined(LEAT_STATIC)
#define LEAT_API
#else
#define LEAT_API [[gnu::visibility("default")]]
#endif
