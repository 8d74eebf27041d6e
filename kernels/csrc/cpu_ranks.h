// Order statistics of magnitudes by counting digits, from the most significant one: no copy, no sorting.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "core.h"

namespace sparsync {

struct OrderStatistics {
  uint32_t upper_value;  // the Ranks::upper-th largest, 0 where there are fewer
  uint32_t lower_value;  // the Ranks::lower-th largest, 0 where there are fewer
  int64_t above_count;   // how many are greater than lower_value
};

// A rank whose value is known down to some bit: `prefix` are the bits above it, `above` counts the magnitudes with a
// larger prefix.
struct Descent {
  int64_t rank;
  uint32_t prefix = 0;
  int64_t above = 0;

  // Read the next digit of `width` bits off the histogram of those whose prefix is ours; false if they are too few.
  bool descend(const uint32_t* histogram, int width) {
    for (int64_t digit = (int64_t{1} << width) - 1; digit >= 0; --digit) {
      const int64_t count = histogram[digit];
      if (above + count >= rank) {
        prefix = prefix << width | (uint32_t)digit;
        return true;
      }
      above += count;
    }
    return false;
  }
};

// The same of a list so short that sorting it costs less than clearing the bins.
constexpr int64_t kShortList = 256;
template <class Visit>
OrderStatistics order_statistics_by_sorting(int64_t count, Ranks ranks, const Visit& visit) {
  std::array<uint32_t, kShortList> sorted;
  int64_t size = 0;
  visit([&](uint32_t bits) { sorted[(size_t)size++] = bits; });
  std::sort(sorted.begin(), sorted.begin() + size, std::greater<>());
  const uint32_t upper = count >= ranks.upper ? sorted[(size_t)ranks.upper - 1] : 0u;
  if (count < ranks.lower) return {upper, 0u, count};
  const uint32_t lower = sorted[(size_t)ranks.lower - 1];
  return {upper, lower, std::lower_bound(sorted.begin(), sorted.begin() + size, lower, std::greater<>()) - sorted.begin()};
}

// The order statistics of a list of `count` magnitudes below 2^31; `visit(f)` calls f with each of them.
template <class Visit>
OrderStatistics order_statistics(int64_t count, Ranks ranks, const Visit& visit) {
  if (count <= kShortList) return order_statistics_by_sorting(count, ranks, visit);
  std::array<Descent, 2> descents{Descent{ranks.upper}, Descent{ranks.lower}};
  std::vector<uint32_t> histograms(2 * 2048);
  int shift = 31;
  for (const int width : {11, 10, 10}) {
    shift -= width;
    std::fill(histograms.begin(), histograms.end(), 0u);
    const uint32_t upper = descents[0].prefix, lower = descents[1].prefix, mask = (1u << width) - 1;
    uint32_t* const first = histograms.data();
    uint32_t* const second = upper == lower ? first : first + 2048;
    visit([&](uint32_t bits) {
      const uint32_t prefix = (uint32_t)((uint64_t)bits >> (shift + width)), digit = bits >> shift & mask;
      if (prefix == upper) ++first[digit];
      if (upper != lower && prefix == lower) ++second[digit];
    });
    if (count >= ranks.upper) descents[0].descend(first, width);
    if (count >= ranks.lower) descents[1].descend(second, width);
  }
  return {count >= ranks.upper ? descents[0].prefix : 0u, count >= ranks.lower ? descents[1].prefix : 0u,
          count >= ranks.lower ? descents[1].above : count};
}

}  // namespace sparsync
