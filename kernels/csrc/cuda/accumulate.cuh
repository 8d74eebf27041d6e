// The first pass: e becomes e + g, 12 bytes an entry, and what the decision needs is taken along.
//
// A group whose memory holds a bound lists its candidates and counts the first digit of their magnitudes; one without
// counts that of all; the released rule takes the moments of every tile. A sum that is not finite is not stored.
#pragma once

#include "cuda/histogram.cuh"
#include "cuda/moments.cuh"

namespace sparsync {

// The residual with its gradient where that is finite, else as it was; then `bit` is set in `refused`.
__device__ inline float add_entry(float residual, float gradient, uint32_t bit, uint32_t& refused) {
  const float sum = residual + gradient;
  const bool is_finite = magnitude(sum) < kInfinityBits;
  refused |= is_finite ? 0u : bit;
  return is_finite ? sum : residual;
}

// All eight 16-byte loads are under way before the first sum.
template <class Gradient>
__device__ inline uint32_t add_whole_tile(const Tile& tile, float (&values)[kEntries]) {
  using Four = typename Gradient::Four;
  const auto* const gradients = static_cast<const typename Gradient::One*>(tile.gradients) + tile.offset;
  Four fours[kRows];
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    const int index = entry_index(4 * row);
    fours[row] = load_streaming(reinterpret_cast<const Four*>(gradients + index));
    spread(load_four(tile.residual + index), values + 4 * row);
  }
  uint32_t refused = 0;
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    const float4 four = Gradient::widen(fours[row]);
    float* const own = values + 4 * row;
    own[0] = add_entry(own[0], four.x, 1u << (4 * row), refused);
    own[1] = add_entry(own[1], four.y, 2u << (4 * row), refused);
    own[2] = add_entry(own[2], four.z, 4u << (4 * row), refused);
    own[3] = add_entry(own[3], four.w, 8u << (4 * row), refused);
    store_four(tile.residual + entry_index(4 * row), make_float4(own[0], own[1], own[2], own[3]));
  }
  return refused;
}

// Loads first here too; the compiler could not move one before a store that might change what it reads.
template <class Gradient>
__device__ inline uint32_t add_partial_tile(const Tile& tile, float (&values)[kEntries]) {
  using One = typename Gradient::One;
  const One* const gradients = static_cast<const One*>(tile.gradients) + tile.offset;
  One ones[kEntries];
#pragma unroll
  for (int entry = 0; entry < kEntries; ++entry) {
    const int index = entry_index(entry);
    ones[entry] = index < tile.count ? load_streaming(gradients + index) : One{};
    values[entry] = index < tile.count ? tile.residual[index] : 0.0f;
  }
  uint32_t refused = 0;
#pragma unroll
  for (int entry = 0; entry < kEntries; ++entry) {
    values[entry] = add_entry(values[entry], Gradient::widen(ones[entry]), 1u << entry, refused);
    if (entry_index(entry) < tile.count) tile.residual[entry_index(entry)] = values[entry];
  }
  return refused;
}

// Adds a tile's gradient and notes the first of its sums that is not finite.
template <class Gradient>
__device__ inline void add_tile(const Tile& tile, GroupState& state, float (&values)[kEntries]) {
  const uint32_t refused =
      tile.is_whole ? add_whole_tile<Gradient>(tile, values) : add_partial_tile<Gradient>(tile, values);
  if (refused != 0) {
    atomicMin(&state.first_non_finite, tile.first_index + entry_index(__ffs(static_cast<int>(refused)) - 1));
  }
}

// Blocks that a multiprocessor holds: moments take more registers.
constexpr int adding_density(bool takes_moments) { return takes_moments ? 3 : kResidentBlocks; }

template <class Gradient, bool kTakesMoments>
__global__ void __launch_bounds__(kThreads, adding_density(kTakesMoments)) accumulate(Tables tables) {
  __shared__ uint32_t bins[kTakesMoments ? 1 : kHistogramBins];
  __shared__ ListScratch list_scratch;
  __shared__ MomentScratch moment_scratch;
  if constexpr (!kTakesMoments) clear_bins(bins);
  Counting counting{bins, -1};
  int turn = 0;
  const Range range = own_range(tables.tile_count);
  for (int64_t position = range.begin; position < range.end; ++position) {
    const Tile tile = find_tile(tables, position);
    GroupState& state = tables.states[tile.group];
    // Asked for before the entries, so that they need not be waited for behind those.
    const int gathering = state.gathering;
    const uint32_t bound = state.bound;
    float values[kEntries];
    add_tile<Gradient>(tile, state, values);
    if constexpr (kTakesMoments) {
      take_moments(tile, values, tables.moments[position], moment_scratch);
    } else if (gathering == kCandidates) {
      const uint32_t mask = mark(values, [=](float value) { return is_at_least(value, bound); });
      counting.change_group(tables, tile.group);
      append_marked(tables, tile, position, mask, &state.listed, list_scratch, turn,
                    [=](float value) { count_digit<kFirstDigit>(bins, {}, magnitude(value)); });
      turn ^= 1;
    } else if (gathering == kDigitCounts) {
      counting.change_group(tables, tile.group);
      count_digits<kFirstDigit>(bins, {}, values);
    }
  }
  if constexpr (!kTakesMoments) {
    if (counting.group >= 0) flush_bins(tables, bins, counting.group);
  }
}

}  // namespace sparsync
