// Decisions between the passes, taken by one block for each group: digits of the order statistics, then the cut.
//
// A candidate list that holds the deciding ranks is read in place of the vector. A Gaussian-k cut is known as soon as
// the two order statistics differ in the digits read: the roundest number between them has no lower digits. From a
// list a second digit is read all the same, for it costs little and the next bound gains by it.
// A list made with a digit is read in place of the vector from then on.
#pragma once

#include "cuda/histogram.cuh"

namespace sparsync {

struct DecisionScratch {
  uint32_t warp_sums[kWarps];
  OrderStatistic found;
};

// Where in a histogram of `kBins` bins, counted from the top, a rank lies; all threads. Each reads its bins once, all of
// them on their way together.
template <int kBins>
__device__ inline OrderStatistic find_digit(const uint32_t* bins, int64_t rank, DecisionScratch& scratch) {
  constexpr int kWidth = kBins / kThreads;
  const int top = kBins - 1 - static_cast<int>(threadIdx.x) * kWidth;
  uint32_t counts[kWidth], own = 0;
#pragma unroll
  for (int turn = 0; turn < kWidth; ++turn) counts[turn] = bins[top - turn];
#pragma unroll
  for (int turn = 0; turn < kWidth; ++turn) own += counts[turn];
  int64_t above = block_exclusive_sum(own, scratch.warp_sums);
  if (threadIdx.x == kThreads - 1 && above + own < rank) scratch.found = {0, 1, above + own, 0};
#pragma unroll
  for (int turn = 0; turn < kWidth; ++turn) {
    const bool is_here = above < rank && rank <= above + counts[turn];
    if (is_here) scratch.found = {static_cast<uint32_t>(top - turn), 0, above, counts[turn]};
    above += counts[turn];
  }
  __syncthreads();
  return scratch.found;
}

// Reads one more digit of an order statistic off its histogram.
template <int kStage>
__device__ inline OrderStatistic refine(OrderStatistic known, const uint32_t* bins, int64_t rank,
                                        DecisionScratch& scratch) {
  if constexpr (kStage == kFirstDigit) return find_digit<kHistogramBins>(bins, rank, scratch);
  if (known.is_absent) return known;
  const OrderStatistic digit = find_digit<kHistogramBins / 2>(bins, rank - known.above, scratch);
  return {known.prefix << digit_bits(kStage) | digit.prefix, 0, known.above + digit.above, digit.inside};
}

// The magnitude of an order statistic whose lowest `bits` bits are unknown, if magnitudes are even in between.
__device__ inline uint32_t estimate(const OrderStatistic& statistic, int64_t rank, int bits) {
  if (bits == 0 || statistic.is_absent) return statistic.prefix;
  const double share = static_cast<double>(rank - statistic.above) / static_cast<double>(statistic.inside);
  return (statistic.prefix << bits) + static_cast<uint32_t>(static_cast<double>(1u << bits) * (1.0 - share));
}

__device__ inline void remember(const Tables& tables, int64_t group, Ranks ranks, int bits) {
  const GroupState& state = tables.states[group];
  const int64_t listed = state.gathering == kCandidates ? static_cast<int64_t>(state.listed) : -1;
  const Memory next = next_memory(estimate(state.lower, ranks.lower, bits), {state.bound, state.margin}, listed,
                                  ranks.lower, candidate_capacity(ranks.lower, tables.groups[group].dimension));
  tables.memory[group * kMemoryColumns + kBound] = static_cast<int32_t>(next.bound);
  tables.memory[group * kMemoryColumns + kMargin] = static_cast<int32_t>(next.margin);
}

// Takes the cut if the digits read so far give it, or asks for the next digit; one thread.
template <int kStage>
__device__ inline void conclude(const Tables& tables, int64_t group, int source, Ranks ranks) {
  GroupState& state = tables.states[group];
  const GroupRow& row = tables.groups[group];
  const bool is_banded = tables.rule == Rule::kGaussianK;
  const bool is_all = is_banded ? state.upper.is_absent != 0 : state.lower.is_absent != 0;
  const bool is_precise = source == kVector || kStage != kFirstDigit;
  const int next_source = state.collected > 0 ? kList : source;
  const bool is_apart = is_banded && is_precise && state.upper.prefix != state.lower.prefix;
  if (kStage != kLastDigit && !is_all && !is_apart) {
    schedule(tables, state, next_source, kStage + 1);
    return;
  }
  const int bits = is_all ? 0 : bits_below(kStage);
  const Cut cut = decide_cut(tables.rule, row.target_count, row.dimension, state.upper.prefix, state.lower.prefix,
                             state.lower.above);
  state.threshold = cut.threshold << bits;
  state.tie_count = static_cast<int32_t>(cut.tie_count < INT32_MAX ? cut.tie_count : INT32_MAX);
  remember(tables, group, ranks, bits_below(kStage));
  // No list holds zeros.
  schedule(tables, state, state.threshold == 0 ? kVector : next_source, kEmission);
}

// Clears a group's histogram; all threads.
__device__ inline void clear_section(const Tables& tables, int64_t group) {
  uint32_t* const bins = tables.histograms + group * kHistogramBins;
  for (int bin = static_cast<int>(threadIdx.x); bin < kHistogramBins; bin += kThreads) bins[bin] = 0;
}

// Reads a digit of both order statistics, counted from `source`, and clears the histogram; all threads.
template <int kStage>
__device__ inline void read_digit(const Tables& tables, int64_t group, int source, DecisionScratch& scratch) {
  GroupState& state = tables.states[group];
  const Ranks ranks = deciding_ranks(tables.rule, tables.groups[group].target_count);
  const uint32_t* const bins = tables.histograms + group * kHistogramBins;
  const bool is_shared = state.upper.prefix == state.lower.prefix;  // 0 both before the first digit
  const OrderStatistic upper = refine<kStage>(state.upper, bins, ranks.upper, scratch);
  const uint32_t* const lower_bins = is_shared ? bins : bins + kHistogramBins / 2;
  const OrderStatistic lower = refine<kStage>(state.lower, lower_bins, ranks.lower, scratch);
  clear_section(tables, group);
  if (threadIdx.x != 0) return;
  state.upper = upper;
  state.lower = lower;
  conclude<kStage>(tables, group, source, ranks);
}

// Whether a group's list was not too long for its section and holds the deciding ranks.
__device__ inline bool list_is_decisive(const Tables& tables, int64_t group) {
  const GroupState& state = tables.states[group];
  const GroupRow& row = tables.groups[group];
  const bool is_enough = state.listed >= deciding_ranks(tables.rule, row.target_count).lower || state.bound == 1;
  return is_enough && state.listed <= row.list_capacity;
}

// After the first pass, which counted a digit: of the vector, or of a list that decides or leaves it to the vector.
__global__ void __launch_bounds__(kThreads) choose_source(Tables tables) {
  __shared__ DecisionScratch scratch;
  const int64_t group = blockIdx.x;
  GroupState& state = tables.states[group];
  if (state.gathering == kNothing) return;
  const bool is_decisive = state.gathering == kDigitCounts || list_is_decisive(tables, group);
  if (!is_decisive) {
    clear_section(tables, group);
    if (threadIdx.x == 0) schedule(tables, state, kVector, kFirstDigit);
    return;
  }
  read_digit<kFirstDigit>(tables, group, state.gathering == kCandidates ? kList : kVector, scratch);
}

}  // namespace sparsync
