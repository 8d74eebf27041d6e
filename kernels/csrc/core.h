// The arithmetic that every implementation shares: magnitudes, ranks, the final threshold, the next bound.
//
// Host and device compile the same text, so that CPU, GPU and emulation cannot disagree about a decision.
// Internal linkage keeps a copy compiled for one instruction set out of code that runs on another.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "request.h"

#if defined(__CUDACC__) || defined(SPARSYNC_EMULATE)
#define SPARSYNC_SHARED __host__ __device__ static inline
#else
#define SPARSYNC_SHARED static inline
#endif

namespace sparsync {

constexpr uint32_t kInfinityBits = 0x7f800000u;
constexpr uint32_t kMagnitudeMask = 0x7fffffffu;
// The unit of work, of the released rule's moments and of the chunked rule: entries of one piece; results never
// depend on the grid.
constexpr int64_t kTileSize = 4096;

SPARSYNC_SHARED uint32_t bits_of(float value) {
#if defined(__CUDA_ARCH__)
  return __float_as_uint(value);
#else
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
#endif
}

SPARSYNC_SHARED float float_of(uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return __uint_as_float(bits);
#else
  float value;
  memcpy(&value, &bits, sizeof(value));
  return value;
#endif
}

// |value| as an integer that orders as |value| does; NaN and infinity are at least kInfinityBits.
SPARSYNC_SHARED uint32_t magnitude(float value) { return bits_of(value) & kMagnitudeMask; }

// The magnitude by which an entry is ranked: a non-finite residual takes no part and counts as zero.
SPARSYNC_SHARED uint32_t ranked_magnitude(float value) {
  const uint32_t bits = magnitude(value);
  return bits >= kInfinityBits ? 0u : bits;
}

// Whether order statistics decide the rule.
SPARSYNC_SHARED bool is_ranked(Rule rule) { return rule == Rule::kTopK || rule == Rule::kGaussianK; }

// The order statistics that decide a rule: the `upper`-th and the `lower`-th largest magnitude, upper <= lower.
struct Ranks {
  int64_t upper;
  int64_t lower;
};

SPARSYNC_SHARED Ranks deciding_ranks(Rule rule, int64_t k) {
  if (rule == Rule::kTopK) return {k, k};
  return {(2 * k + 2) / 3, 4 * k / 3 + 1};  // ceil(2k/3) and floor(4k/3) + 1
}

// What is selected: magnitudes above `threshold`, and of those equal to it the first `tie_count` by index.
struct Cut {
  uint32_t threshold;
  int64_t tie_count;
};
constexpr int64_t kAllTies = INT64_MAX;

// How many entries the chunk of the group's entries [begin, end) sends.
SPARSYNC_SHARED int64_t chunk_share(int64_t k, int64_t dimension, int64_t begin, int64_t end) {
  return k * end / dimension - k * begin / dimension;
}

// The number of [low, high], 1 <= low <= high, with the most trailing zero bits.
SPARSYNC_SHARED uint32_t roundest(uint32_t low, uint32_t high) {
  uint32_t mask = ~0u;
  while ((high & (mask << 1)) >= low) mask <<= 1;
  return high & mask;
}

// The cut of kTopK and kGaussianK from its order statistics.
//   upper_value, lower_value: the magnitudes at `deciding_ranks` (0 where the rank exceeds the dimension);
//   above_count: how many magnitudes are greater than lower_value.
SPARSYNC_SHARED Cut decide_cut(Rule rule, int64_t k, int64_t dimension, uint32_t upper_value, uint32_t lower_value,
                               int64_t above_count) {
  if (rule == Rule::kTopK) return {lower_value, k - above_count};
  if (k == dimension || upper_value == 0) return {1u, kAllTies};
  if (lower_value < upper_value) return {roundest(lower_value + 1, upper_value), kAllTies};
  return {lower_value, k - above_count};
}

// The cut of |u| > threshold, strictly, as the released code compares; a negative threshold selects everything, an
// infinite one and NaN nothing.
SPARSYNC_SHARED Cut strict_cut(float threshold) {
  if (threshold < 0.0f) return {0u, kAllTies};
  const uint32_t bits = magnitude(threshold);
  return {bits >= kInfinityBits ? kInfinityBits : bits + 1, kAllTies};
}

// Candidates kept of a group at most, so that 8-byte entries stay within 5 % of the residual's bytes at densities
// up to 0.01: 0.0225 d entries, unless the deciding rank needs more.
SPARSYNC_SHARED int64_t candidate_capacity(int64_t needed_count, int64_t dimension) {
  const int64_t tight = needed_count + needed_count / 4 + 64;
  const int64_t budget = dimension * 9 / 400;
  const int64_t generous = 4 * needed_count < budget ? 4 * needed_count : budget;
  const int64_t capacity = tight > generous ? tight : generous;
  return capacity < dimension ? capacity : dimension;
}

// Beyond this share of the vector a candidate list saves nothing over histograms of the whole.
SPARSYNC_SHARED bool list_is_worthwhile(int64_t needed_count, int64_t dimension) {
  return needed_count <= dimension / 8;
}

struct Memory {
  uint32_t bound;
  uint32_t margin;
};

// The bound of the next call's candidate list, `margin` below the deciding order statistic: the margin that would
// have listed the geometric mean of what is needed and what there is room for, if the logarithm of the count is
// proportional to the distance. (An exponential tail has that; for lighter ones the error is on the small side when
// the list must grow, so the margin settles instead of oscillating.)
//   value: the deciding order statistic; listed: how many exceeded `bound` in this call, or -1 if none were counted.
SPARSYNC_SHARED Memory next_memory(uint32_t value, Memory used, int64_t listed, int64_t needed_count,
                                   int64_t capacity) {
  constexpr double kFirstMargin = 620000.0;  // about 5 % of a magnitude: 2^23 log2(1.05)
  const bool is_known = used.margin >= 1 && used.margin < kInfinityBits;
  double margin = is_known ? (double)used.margin : kFirstMargin;
  if (listed > needed_count && used.bound < value) {
    // log1p: of log, glibc 2.29 has a version that older systems lack.
    const double room = 0.5 * log1p((double)(capacity - needed_count) / (double)needed_count);
    const double more = log1p((double)(listed - needed_count) / (double)needed_count);
    const double wanted = (double)(value - used.bound) * room / more;
    margin = is_known && wanted > margin * 4 ? margin * 4 : wanted;
  } else if (listed >= 0) {
    margin = margin * 2;
  }
  if (margin < 1.0) margin = 1.0;
  if (margin > 8388608.0) margin = 8388608.0;  // one octave
  const uint32_t step = (uint32_t)margin;
  return {value > step ? value - step : 1u, step};
}

}  // namespace sparsync
