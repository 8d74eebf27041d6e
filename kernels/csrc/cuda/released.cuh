// The released refinement: a threshold from the moments, the counts of all it can become, and the walk among them.
#pragma once

#include <cmath>

#include "cuda/moments.cuh"

namespace sparsync {

// One block for each group: its moments, mean + z std, and the thresholds that three counts can reach.
__global__ void __launch_bounds__(kThreads) find_ladder(Tables tables) {
  const int64_t index = blockIdx.x;
  const GroupRow& group = tables.groups[index];
  Moments* const chunks = tables.moments + tables.tile_count + group.first_chunk;
  merge_all(chunks, group.chunk_count);
  if (threadIdx.x != 0) return;
  const Moments& all = chunks[0];
  // A single entry has no deviation: 0/0, and nothing exceeds NaN.
  const double start = all.mean + group.parameter * sqrt(all.deviations / (all.count - 1.0));
  const double low = start * 0.5, high = start * 1.5;
  const double ladder[kLadderSize] = {start, low, high, low * 0.5, low * 1.5, high * 1.5};
#pragma unroll
  for (int step = 0; step < kLadderSize; ++step) {
    tables.states[index].ladder[step] = strict_cut(static_cast<float>(ladder[step])).threshold;
  }
}

__device__ inline void flush_ladder(GroupState& state, uint32_t (&counts)[kLadderSize]) {
#pragma unroll
  for (int step = 0; step < kLadderSize; ++step) {
    uint32_t sum = counts[step];
    for (int distance = 16; distance >= 1; distance /= 2) sum += __shfl_xor_sync(kFullMask, sum, distance);
    if (threadIdx.x % 32 == 0 && sum != 0) atomicAdd(&state.ladder_counts[step], sum);
    counts[step] = 0;
  }
}

// How many entries exceed each threshold of the ladder.
__global__ void __launch_bounds__(kThreads, kResidentBlocks) count_ladder(Tables tables) {
  uint32_t counts[kLadderSize] = {};
  int group = -1;
  const Range range = own_range(tables.tile_count);
  for (int64_t position = range.begin; position < range.end; ++position) {
    const Tile tile = find_tile(tables, position);
    if (tile.group != group && group >= 0) flush_ladder(tables.states[group], counts);
    group = tile.group;
    float values[kEntries];
    load_tile(tile, float_of(kInfinityBits), values);
#pragma unroll
    for (int step = 0; step < kLadderSize; ++step) {
      const uint32_t threshold = tables.states[group].ladder[step];
#pragma unroll
      for (int entry = 0; entry < kEntries; ++entry) {
        counts[step] += is_at_least(values[entry], threshold) ? 1u : 0u;
      }
    }
  }
  if (group >= 0) flush_ladder(tables.states[group], counts);
}

// Three counts at most: below 2k/3 the threshold is halved, above 4k/3 raised by half; the last counted one cuts.
__global__ void __launch_bounds__(kThreads) walk_ladder(Tables tables) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t index = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; index < tables.group_count;
       index += stride) {
    const int64_t k = tables.groups[index].target_count;
    GroupState& state = tables.states[index];
    int step = 0;
    for (int pass = 0; pass < 2; ++pass) {
      const int64_t count = state.ladder_counts[step];
      const bool is_low = 3 * count < 2 * k;
      if (!is_low && 3 * count <= 4 * k) break;
      // From t to t/2 and 3t/2, from those to t/4, 3t/4 and 9t/4.
      step = pass == 0 ? (is_low ? 1 : 2) : step + (is_low ? 2 : 3);
    }
    state.threshold = state.ladder[step];
    ++state.passes;  // by count_ladder
    schedule(tables, state, kVector, kEmission);
  }
}

}  // namespace sparsync
