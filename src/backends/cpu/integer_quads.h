// The integer tile on AVX-512 VNNI, which multiplies and adds four bytes at a time. Highway 1.0.3
// has no name for that instruction, so it has a file of its own.
#pragma once

#include <cstddef>
#include <cstdint>

// 1: the functions are there, which does not say that the machine can run them.
#if defined(__x86_64__) && defined(__GNUC__)
#define LEAT_HAS_QUADS 1
#else
#define LEAT_HAS_QUADS 0
#endif

namespace leat::cpu {

inline constexpr int64_t kQuad = 4;          // consecutive k
inline constexpr int64_t kQuadColumns = 32;  // two vectors
inline constexpr int64_t kQuadRows = 12;     // 24 sums, two vectors of b, a quad of a

// Whether this machine can run multiply_quads, beside AVX-512.
bool has_quads();

// IntegerGemm::multiply; a is bytes.
void multiply_quads(const std::byte* a,
                    int64_t a_row_bytes,
                    int64_t rows,
                    const int8_t* b,
                    int64_t groups,
                    int32_t* sums);

}  // namespace leat::cpu
