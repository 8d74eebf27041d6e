// Histograms of one digit of the magnitudes: counted in shared memory, added to the group's section by atomics.
//
// Magnitudes of zero are not counted: a rank beyond the counted ones is a zero. After the first digit only entries
// are counted whose leading bits are those of an order statistic sought, so two half sections suffice.
#pragma once

#include "cuda/lists.cuh"

namespace sparsync {

// Which entries are counted, and where: the prefixes sought. An absent rank's is 0; what it counts is not read.
struct DigitFilter {
  uint32_t upper;
  uint32_t lower;
};

__device__ inline DigitFilter digit_filter(const GroupState& state) {
  return {state.upper.prefix, state.lower.prefix};
}

template <int kStage>
__device__ inline void count_digit(uint32_t* bins, const DigitFilter& filter, uint32_t bits) {
  if (bits == 0) return;
  if constexpr (kStage == kFirstDigit) {
    atomicAdd(&bins[bits >> bits_below(kFirstDigit)], 1u);
  } else {
    const uint32_t prefix = bits >> (bits_below(kStage) + digit_bits(kStage));
    const uint32_t digit = bits >> bits_below(kStage) & ((1u << digit_bits(kStage)) - 1u);
    if (prefix == filter.upper) {
      atomicAdd(&bins[digit], 1u);
    } else if (prefix == filter.lower) {
      atomicAdd(&bins[kHistogramBins / 2 + digit], 1u);
    }
  }
}

template <int kStage>
__device__ inline void count_digits(uint32_t* bins, const DigitFilter& filter, const float (&values)[kEntries]) {
#pragma unroll
  for (int entry = 0; entry < kEntries; ++entry) count_digit<kStage>(bins, filter, ranked_magnitude(values[entry]));
}

__device__ inline void clear_bins(uint32_t* bins) {
  for (int bin = static_cast<int>(threadIdx.x); bin < kHistogramBins; bin += kThreads) bins[bin] = 0;
  __syncthreads();
}

// Adds the block's counts to the group's and clears them.
__device__ inline void flush_bins(const Tables& tables, uint32_t* bins, int group) {
  __syncthreads();
  uint32_t* const section = tables.histograms + static_cast<int64_t>(group) * kHistogramBins;
  for (int bin = static_cast<int>(threadIdx.x); bin < kHistogramBins; bin += kThreads) {
    if (bins[bin] != 0) atomicAdd(&section[bin], bins[bin]);
    bins[bin] = 0;
  }
  __syncthreads();
}

// The bins of one block and the group that they belong to, -1 for none.
struct Counting {
  uint32_t* bins;
  int group;

  __device__ inline void change_group(const Tables& tables, int next) {
    if (group == next) return;
    if (group >= 0) flush_bins(tables, bins, group);
    group = next;
  }
};

}  // namespace sparsync
