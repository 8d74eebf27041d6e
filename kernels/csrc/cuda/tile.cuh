// One tile in the registers of one block: loads and stores, and the places of marked entries.
//
// Thread t holds the entries 4 (t + 256 j) + c, row j = 0..3 and column c = 0..3, as value 4 j + c: every row is one
// 16-byte access per thread, and the order of entries is by row, then thread, then column.
#pragma once

#include "cuda/tables.cuh"

namespace sparsync {

constexpr int kRows = 4;
constexpr int kEntries = 16;  // of one thread
static_assert(kThreads * kEntries == kTileSize, "a block holds one tile");

struct Tile {
  int32_t group;
  int32_t count;        // entries, at most kTileSize
  int32_t first_index;  // of its first entry, within the group
  bool is_whole;        // full and aligned: 16-byte accesses
  float* residual;
  const void* gradients;  // of the piece
  int64_t offset;         // of the first entry, within the piece
};

// Tells the compiler that a pointer read from a table points to the device's memory, not to a block's.
template <class Item>
__device__ inline Item* in_global(Item* pointer) {
#if defined(__CUDA_ARCH__)
  __builtin_assume(__isGlobal(pointer));
#endif
  return pointer;
}

__device__ inline Tile find_tile(const Tables& tables, int64_t tile) {
  const PieceRow& piece = tables.pieces[tables.piece_count == 1 ? 0 : tables.tile_pieces[tile]];
  const int64_t offset = (tile - piece.first_tile) * kTileSize;
  const int64_t rest = piece.length - offset;
  const int32_t count = static_cast<int32_t>(rest < kTileSize ? rest : kTileSize);
  return {piece.group,
          count,
          static_cast<int32_t>(piece.group_offset + offset),
          piece.is_aligned != 0 && count == kTileSize,
          in_global(piece.residual + offset),
          in_global(piece.gradient),
          offset};
}

// float16 bits as float32: the exponent is rebiased by a multiplication, exact for subnormal numbers too.
__device__ inline float widen_half(uint32_t bits) {
  const uint32_t sign = (bits & 0x8000u) << 16;
  const uint32_t moved = (bits & 0x7fffu) << 13;
  if (moved >= 0x0f800000u) return float_of(sign | kInfinityBits | (moved & 0x007fe000u));
  return float_of(sign | bits_of(float_of(moved) * 5192296858534827628530496329220096.0f));  // 2^112
}

// How gradients are stored: the type of one and of four neighbours, and the float32 that they stand for.
struct Float32 {
  using One = float;
  using Four = float4;
  static __device__ inline float widen(float value) { return value; }
  static __device__ inline float4 widen(float4 values) { return values; }
};

struct Bfloat16 {
  using One = uint16_t;
  using Four = uint2;
  static __device__ inline float widen(uint32_t bits) { return float_of(bits << 16); }
  static __device__ inline float4 widen(uint2 bits) {
    return make_float4(widen(bits.x & 0xffffu), widen(bits.x >> 16), widen(bits.y & 0xffffu), widen(bits.y >> 16));
  }
};

struct Float16 {
  using One = uint16_t;
  using Four = uint2;
  static __device__ inline float widen(uint32_t bits) { return widen_half(bits); }
  static __device__ inline float4 widen(uint2 bits) {
    return make_float4(widen(bits.x & 0xffffu), widen(bits.x >> 16), widen(bits.y & 0xffffu), widen(bits.y >> 16));
  }
};

__device__ inline void spread(float4 four, float* values) {
  values[0] = four.x;
  values[1] = four.y;
  values[2] = four.z;
  values[3] = four.w;
}

// One 16-byte load, as a function of its own: observers of the emulation would not see it in an argument.
__device__ inline float4 load_four(const float* source) { return *reinterpret_cast<const float4*>(source); }

// One 16-byte store; from a plain assignment nvcc makes four, from __stwb one with a scope of memory order.
__device__ inline void store_four(float* destination, float4 four) {
#if defined(__CUDA_ARCH__)
  asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};"
               :
               : "l"(__cvta_generic_to_global(destination)), "f"(four.x), "f"(four.y), "f"(four.z), "f"(four.w)
               : "memory");
#else
  *reinterpret_cast<float4*>(destination) = four;
#endif
}

// The index of an entry of the thread within the tile.
__device__ inline int entry_index(int entry) {
  return 4 * (static_cast<int>(threadIdx.x) + kThreads * (entry / 4)) + entry % 4;
}

// The thread's entries of the residual; `missing` where the tile has ended.
__device__ inline void load_tile(const Tile& tile, float missing, float (&values)[kEntries]) {
  if (tile.is_whole) {
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      spread(load_four(tile.residual + entry_index(4 * row)), values + 4 * row);
    }
    return;
  }
#pragma unroll
  for (int entry = 0; entry < kEntries; ++entry) {
    values[entry] = entry_index(entry) < tile.count ? tile.residual[entry_index(entry)] : missing;
  }
}

// The counts of marked entries in the four rows of a 16-bit mask, one to a byte.
__device__ inline uint32_t row_counts(uint32_t mask) {
  const uint32_t pairs = mask - ((mask >> 1) & 0x5555u);
  const uint32_t rows = (pairs & 0x3333u) + ((pairs >> 2) & 0x3333u);
  return (rows & 0xfu) | (rows & 0xf0u) << 4 | (rows & 0xf00u) << 8 | (rows & 0xf000u) << 12;
}

// The sum over the lower lanes and this one; of bytes as long as none exceeds 255.
__device__ inline uint32_t warp_inclusive_sum(uint32_t value) {
  const uint32_t lane = threadIdx.x % 32;
#pragma unroll
  for (uint32_t distance = 1; distance < 32; distance *= 2) {
    const uint32_t lower = __shfl_up_sync(kFullMask, value, distance);
    if (lane >= distance) value += lower;
  }
  return value;
}

// The sum over the lower threads of the block; all threads.
__device__ inline uint32_t block_exclusive_sum(uint32_t value, uint32_t* warp_sums) {
  const uint32_t inclusive = warp_inclusive_sum(value);
  const uint32_t warp = threadIdx.x / 32;
  if (threadIdx.x % 32 == 31) warp_sums[warp] = inclusive;
  __syncthreads();
  uint32_t before = inclusive - value;
  for (uint32_t other = 0; other < warp; ++other) before += warp_sums[other];
  __syncthreads();
  return before;
}

// Places of the thread's marked entries among those of the tile: where each row of the thread begins.
struct Places {
  uint32_t even;  // rows 0 and 2, 16 bits each
  uint32_t odd;   // rows 1 and 3
  int32_t total;  // marked entries of the tile

  __device__ inline int row_begin(int row) const {
    return static_cast<int>((row % 2 ? odd : even) >> (row / 2 * 16) & 0xffffu);
  }
};

// Marked entries of one warp per row, as bytes, and of the thread's lower lanes.
struct WarpCounts {
  uint32_t before;
  uint32_t total;  // valid in lane 31
};

__device__ inline WarpCounts count_in_warp(uint32_t mask) {
  if (!__any_sync(kFullMask, mask != 0)) return {0, 0};
  const uint32_t own = row_counts(mask);
  const uint32_t inclusive = warp_inclusive_sum(own);
  return {inclusive - own, inclusive};
}

// `warp_totals`: WarpCounts::total of all warps, behind a barrier.
__device__ inline Places find_places(const uint32_t* warp_totals, uint32_t before) {
  const uint32_t warp = threadIdx.x / 32;
  uint32_t even = 0, odd = 0;                                                  // of the whole tile
  uint32_t even_before = before & 0xff00ffu, odd_before = before >> 8 & 0xff00ffu;  // in the row
#pragma unroll
  for (uint32_t other = 0; other < kWarps; ++other) {
    const uint32_t rows = warp_totals[other];
    const uint32_t other_even = rows & 0xff00ffu, other_odd = rows >> 8 & 0xff00ffu;
    even += other_even;
    odd += other_odd;
    even_before += other < warp ? other_even : 0u;
    odd_before += other < warp ? other_odd : 0u;
  }
  const uint32_t second = even & 0xffffu;
  const uint32_t third = second + (odd & 0xffffu);
  const uint32_t fourth = third + (even >> 16);
  const uint32_t all = fourth + (odd >> 16);
  return {even_before + (third << 16), odd_before + (second | fourth << 16), static_cast<int32_t>(all)};
}

// Whether an entry is finite and of a magnitude of at least `least`, which is at most kInfinityBits. One comparison
// tells, for smaller magnitudes wrap around.
__device__ inline bool is_at_least(float value, uint32_t least) {
  return magnitude(value) - least < kInfinityBits - least;
}

// Which of the thread's entries satisfy a condition.
template <class Condition>
__device__ inline uint32_t mark(const float (&values)[kEntries], const Condition& condition) {
  uint32_t mask = 0;
#pragma unroll
  for (int entry = 0; entry < kEntries; ++entry) mask |= condition(values[entry]) ? 1u << entry : 0u;
  return mask;
}

// How many marked entries of the same row and thread come before the entry.
__device__ inline int marked_before(uint32_t mask, int entry) {
  return __popc(mask >> (entry & ~3) & ((1u << (entry & 3)) - 1u));
}

}  // namespace sparsync
