// Mean and squared deviations of every group, in a fixed tree of adjacent pairs, in double precision.
//
// A tile's tree is two levels in the thread, five in the warp, five over the tile's 32 runs of 128 entries; tiles are
// merged in pairs by the update of Chan, Golub and LeVeque (1983), an odd last one passing unchanged.
#pragma once

#include "cuda/tile.cuh"

namespace sparsync {

struct MomentScratch {
  double sums[2][kRows * kWarps];
};

// The sum over the tile of a function of the thread's entries, the same in all threads.
template <class Term>
__device__ inline double tile_sum(const Term& term, double* runs) {
  double rows[kRows];
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    rows[row] = (term(4 * row) + term(4 * row + 1)) + (term(4 * row + 2) + term(4 * row + 3));
  }
  // Four rows at once: each of the first two levels also halves the rows that a lane is responsible for.
  const uint32_t lane = threadIdx.x % 32;
  const bool is_odd = lane % 2 != 0, is_high = lane / 2 % 2 != 0;
  const double first_sent = is_odd ? rows[0] : rows[2], second_sent = is_odd ? rows[1] : rows[3];
  const double first = (is_odd ? rows[2] : rows[0]) + __shfl_xor_sync(kFullMask, first_sent, 1);
  const double second = (is_odd ? rows[3] : rows[1]) + __shfl_xor_sync(kFullMask, second_sent, 1);
  double sum = (is_high ? second : first) + __shfl_xor_sync(kFullMask, is_high ? first : second, 2);
  for (int distance = 4; distance < 32; distance *= 2) sum += __shfl_xor_sync(kFullMask, sum, distance);
  if (lane < kRows) runs[(2 * (lane % 2) + lane / 2) * kWarps + threadIdx.x / 32] = sum;
  __syncthreads();
  sum = runs[lane];
  for (int distance = 1; distance < 32; distance *= 2) sum += __shfl_xor_sync(kFullMask, sum, distance);
  return sum;
}

__device__ inline void take_moments(const Tile& tile, const float (&values)[kEntries], Moments& result,
                                    MomentScratch& scratch) {
  const auto value = [&](int entry) {
    return magnitude(values[entry]) < kInfinityBits ? static_cast<double>(values[entry]) : 0.0;
  };
  const double count = tile.count;
  const double mean = tile_sum(value, scratch.sums[0]) / count;
  const auto squared_deviation = [&](int entry) {
    const double deviation = value(entry) - mean;
    return entry_index(entry) < tile.count ? deviation * deviation : 0.0;
  };
  const double deviations = tile_sum(squared_deviation, scratch.sums[1]);
  if (threadIdx.x == 0) result = {count, mean, deviations};
}

__device__ inline Moments merge(const Moments& left, const Moments& right) {
  const double count = left.count + right.count;
  const double delta = right.mean - left.mean;
  return {count, left.mean + delta * (right.count / count),
          (left.deviations + right.deviations) + (delta * delta) * (left.count * (right.count / count))};
}

// Replaces `count` moments by those of their adjacent pairs until one is left, in the first place; all threads.
__device__ inline void merge_all(Moments* moments, int64_t count) {
  while (count > 1) {
    const int64_t half = (count + 1) / 2;
    for (int64_t begin = 0; begin < half; begin += kThreads) {
      const int64_t pair = begin + threadIdx.x;
      const bool is_pair = pair < half;
      Moments merged{};
      if (is_pair) merged = moments[2 * pair];
      if (2 * pair + 1 < count) merged = merge(merged, moments[2 * pair + 1]);
      __syncthreads();
      if (is_pair) moments[pair] = merged;
      __syncthreads();
    }
    count = half;
  }
}

// The moments of every chunk of tiles, a complete subtree of its group's tree unless it is the last.
__global__ void __launch_bounds__(kThreads) merge_tiles(Tables tables) {
  __shared__ Moments moments[kMostChunkTiles];
  for (int64_t chunk = blockIdx.x; chunk < tables.chunk_count; chunk += gridDim.x) {
    const GroupRow& group = tables.groups[tables.chunk_groups[chunk]];
    const int64_t begin = (chunk - group.first_chunk) * tables.chunk_tiles;
    const int64_t rest = group.tile_count - begin;
    const int64_t count = rest < tables.chunk_tiles ? rest : tables.chunk_tiles;
    if (threadIdx.x < count) moments[threadIdx.x] = tables.moments[group.first_tile + begin + threadIdx.x];
    __syncthreads();
    merge_all(moments, count);
    if (threadIdx.x == 0) tables.moments[tables.tile_count + chunk] = moments[0];
    __syncthreads();
  }
}

}  // namespace sparsync
