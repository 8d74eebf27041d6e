// The CUDA language without its threads: qualifiers, vector types, bit functions.
#pragma once

#include <algorithm>
#include <bit>
#include <type_traits>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
// A block runs on one operating-system thread. CUDA gives shared memory no initial value; grid.h fills in garbage.
#define __shared__ static thread_local

// Vectors are read through casts from scalars, hence may_alias; their alignment is CUDA's, so that
// -fsanitize=alignment finds a misaligned vector access.
#define SPARSYNC_VECTOR(name, element, alignment, parameters, ...)       \
  struct alignas(alignment) [[gnu::may_alias]] name {                    \
    element __VA_ARGS__;                                                 \
  };                                                                     \
  inline name make_##name parameters { return {__VA_ARGS__}; }

SPARSYNC_VECTOR(int2, int, 8, (int x, int y), x, y)
SPARSYNC_VECTOR(int4, int, 16, (int x, int y, int z, int w), x, y, z, w)
SPARSYNC_VECTOR(uint2, unsigned, 8, (unsigned x, unsigned y), x, y)
SPARSYNC_VECTOR(uint4, unsigned, 16, (unsigned x, unsigned y, unsigned z, unsigned w), x, y, z, w)
SPARSYNC_VECTOR(float2, float, 8, (float x, float y), x, y)
SPARSYNC_VECTOR(float4, float, 16, (float x, float y, float z, float w), x, y, z, w)
SPARSYNC_VECTOR(double2, double, 16, (double x, double y), x, y)
SPARSYNC_VECTOR(ushort2, unsigned short, 4, (unsigned short x, unsigned short y), x, y)
SPARSYNC_VECTOR(ushort4, unsigned short, 8, (unsigned short x, unsigned short y, unsigned short z, unsigned short w),
                x, y, z, w)
#undef SPARSYNC_VECTOR

inline int __popc(unsigned value) { return std::popcount(value); }
inline int __popcll(unsigned long long value) { return std::popcount(value); }
inline int __clz(int value) { return std::countl_zero(static_cast<unsigned>(value)); }
inline int __clzll(long long value) { return std::countl_zero(static_cast<unsigned long long>(value)); }
// One more than the position of the lowest one-bit, 0 if there is none.
inline int __ffs(int value) { return value == 0 ? 0 : std::countr_zero(static_cast<unsigned>(value)) + 1; }
inline int __ffsll(long long value) {
  return value == 0 ? 0 : std::countr_zero(static_cast<unsigned long long>(value)) + 1;
}
inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }

template <class A, class B>
  requires(std::is_arithmetic_v<A> && std::is_arithmetic_v<B>)
constexpr std::common_type_t<A, B> min(A a, B b) {
  return std::min<std::common_type_t<A, B>>(a, b);
}

template <class A, class B>
  requires(std::is_arithmetic_v<A> && std::is_arithmetic_v<B>)
constexpr std::common_type_t<A, B> max(A a, B b) {
  return std::max<std::common_type_t<A, B>>(a, b);
}
