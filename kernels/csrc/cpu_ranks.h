// Order statistics of magnitudes by counting: no copy, and no sorting but of the few that are left in the end.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
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

// Where the `rank`-th largest of many magnitudes lies: in low, ..., low + 2^bits - 1.
struct Bracket {
  int64_t rank;
  uint32_t low;
  int bits;
  int64_t above;   // magnitudes beyond it
  int64_t inside;  // magnitudes in it

  bool is_narrow() const { return bits == 0 || inside <= kShortList; }
  uint32_t part_of(uint32_t magnitude, int part_bits) const { return (magnitude - low) >> (bits - part_bits); }

  // Becomes the one of its 2^part_bits equal parts that holds the rank; `histogram` counts the magnitudes in each.
  void narrow(const uint32_t* histogram, int part_bits) {
    uint32_t part = (1u << part_bits) - 1;
    while (above + histogram[part] < rank) above += histogram[part--];
    bits -= part_bits;
    low += part << bits;
    inside = histogram[part];
  }

  // Ends the search: `low` becomes the value, by all the magnitudes inside, which are put in order.
  void finish(uint32_t* found) {
    std::sort(found, found + inside, std::greater<>());
    low = found[rank - above - 1];
    above += std::lower_bound(found, found + inside, low, std::greater<>()) - found;
  }
};

// One pass over the magnitudes that narrows both brackets, which are of one length, each with a half of `tables`.
template <class Visit>
void narrow_both(Bracket& upper, Bracket& lower, std::vector<uint32_t>& tables, const Visit& visit) {
  const int table_bits = (int)std::bit_width(tables.size() / 2) - 1;
  const int part_bits = std::min(upper.bits, table_bits);
  const Bracket one = upper, other = lower;  // copies that stay in registers
  const bool is_shared = one.low == other.low;
  uint32_t* const upper_table = tables.data();
  uint32_t* const lower_table = is_shared ? upper_table : upper_table + tables.size() / 2;
  std::fill(tables.begin(), tables.end(), 0u);
  if (is_shared) {
    visit([&](uint32_t bits) {
      const uint32_t part = one.part_of(bits, part_bits);
      if (part >> part_bits == 0) ++upper_table[part];
    });
  } else {
    visit([&](uint32_t bits) {
      const uint32_t upper_part = one.part_of(bits, part_bits), lower_part = other.part_of(bits, part_bits);
      if (upper_part >> part_bits == 0) ++upper_table[upper_part];
      if (lower_part >> part_bits == 0) ++lower_table[lower_part];
    });
  }
  upper.narrow(upper_table, part_bits);
  lower.narrow(lower_table, part_bits);
}

// One pass that ends the search in two narrow brackets.
template <class Visit>
void finish_both(Bracket& upper, Bracket& lower, const Visit& visit) {
  std::array<uint32_t, kShortList> upper_found, lower_found;
  const Bracket one = upper, other = lower;
  int64_t upper_count = 0, lower_count = 0;
  visit([&](uint32_t bits) {
    if (one.part_of(bits, 0) == 0) upper_found[(size_t)upper_count++] = bits;
    if (other.part_of(bits, 0) == 0) lower_found[(size_t)lower_count++] = bits;
  });
  upper.finish(upper_found.data());
  lower.finish(lower_found.data());
}

// The order statistics of a list of `count` magnitudes below 2^31; `visit(f)` calls f with each of them. What they
// range over is cut into as many parts as pay, which spreads them better than digits do: they differ by little.
template <class Visit>
OrderStatistics order_statistics(int64_t count, Ranks ranks, const Visit& visit) {
  constexpr int kMostTableBits = 11;
  if (count <= kShortList) return order_statistics_by_sorting(count, ranks, visit);
  uint32_t least = UINT32_MAX, most = 0;
  visit([&](uint32_t bits) {
    least = std::min(least, bits);
    most = std::max(most, bits);
  });
  const int width = (int)std::bit_width(most - least);
  Bracket upper{std::min(ranks.upper, count), least, width, 0, count};
  Bracket lower{std::min(ranks.lower, count), least, width, 0, count};
  const int table_bits = std::min(kMostTableBits, (int)std::bit_width((uint64_t)count) - 1);
  std::vector<uint32_t> tables((size_t)2 << table_bits);
  while (!upper.is_narrow() || !lower.is_narrow()) narrow_both(upper, lower, tables, visit);
  if (upper.bits > 0) finish_both(upper, lower, visit);
  return {count >= ranks.upper ? upper.low : 0u, count >= ranks.lower ? lower.low : 0u,
          count >= ranks.lower ? lower.above : count};
}

}  // namespace sparsync
