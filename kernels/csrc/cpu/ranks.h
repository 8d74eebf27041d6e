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

// Magnitudes that one thread reads alone: `visit(f)` calls f with each of them. A reader like this one is called with a
// total, which is empty at first, take(total, magnitude) and join(total, other total).
template <class Visit>
auto read_alone(const Visit& visit) {
  return [&visit](auto& total, const auto& take, const auto&) { visit([&](uint32_t bits) { take(total, bits); }); };
}

// What the magnitudes range over.
struct Range {
  uint32_t least = UINT32_MAX;
  uint32_t most = 0;
};

template <class Read>
Range range_of(const Read& read) {
  Range range;
  read(
      range,
      [](Range& total, uint32_t bits) {
        total.least = std::min(total.least, bits);
        total.most = std::max(total.most, bits);
      },
      [](Range& total, const Range& other) {
        total.least = std::min(total.least, other.least);
        total.most = std::max(total.most, other.most);
      });
  return range;
}

// One pass over the magnitudes that narrows both brackets, which are of one length, by tables of 2^table_bits parts.
template <class Read>
void narrow_both(Bracket& upper, Bracket& lower, int table_bits, const Read& read) {
  const int part_bits = std::min(upper.bits, table_bits);
  const Bracket one = upper, other = lower;  // copies that stay in registers
  const size_t size = (size_t)1 << part_bits;
  const auto join = [](std::vector<uint32_t>& total, const std::vector<uint32_t>& more) {
    for (size_t part = 0; part < total.size(); ++part) total[part] += more[part];
  };
  if (one.low == other.low) {
    std::vector<uint32_t> table(size);
    const auto take = [=](std::vector<uint32_t>& total, uint32_t bits) {
      const uint32_t part = one.part_of(bits, part_bits);
      if (part >> part_bits == 0) ++total[part];
    };
    read(table, take, join);
    upper.narrow(table.data(), part_bits);
    lower.narrow(table.data(), part_bits);
  } else {
    std::vector<uint32_t> tables(2 * size);
    const auto take = [=](std::vector<uint32_t>& total, uint32_t bits) {
      const uint32_t upper_part = one.part_of(bits, part_bits), lower_part = other.part_of(bits, part_bits);
      if (upper_part >> part_bits == 0) ++total[upper_part];
      if (lower_part >> part_bits == 0) ++total[size + lower_part];
    };
    read(tables, take, join);
    upper.narrow(tables.data(), part_bits);
    lower.narrow(tables.data() + size, part_bits);
  }
}

// The magnitudes in a narrow bracket, in any order.
struct Found {
  std::array<uint32_t, kShortList> magnitudes;
  int64_t count = 0;

  void add(uint32_t bits) { magnitudes[(size_t)count++] = bits; }
  void add(const Found& other) {
    std::copy_n(other.magnitudes.begin(), other.count, magnitudes.begin() + count);
    count += other.count;
  }
};

// One pass that ends the search in two narrow brackets.
template <class Read>
void finish_both(Bracket& upper, Bracket& lower, const Read& read) {
  const Bracket one = upper, other = lower;
  std::array<Found, 2> found;
  const auto take = [=](std::array<Found, 2>& total, uint32_t bits) {
    if (one.part_of(bits, 0) == 0) total[0].add(bits);
    if (other.part_of(bits, 0) == 0) total[1].add(bits);
  };
  const auto join = [](std::array<Found, 2>& total, const std::array<Found, 2>& more) {
    total[0].add(more[0]);
    total[1].add(more[1]);
  };
  read(found, take, join);
  upper.finish(found[0].magnitudes.data());
  lower.finish(found[1].magnitudes.data());
}

// The order statistics of more than kShortList magnitudes below 2^31. What they range over is cut into as many parts as
// pay, which spreads them better than digits do: they differ by little.
template <class Read>
OrderStatistics order_statistics_by_counting(int64_t count, Ranks ranks, const Read& read) {
  constexpr int kMostTableBits = 11;
  const Range range = range_of(read);
  const int width = (int)std::bit_width(range.most - range.least);
  Bracket upper{std::min(ranks.upper, count), range.least, width, 0, count};
  Bracket lower{std::min(ranks.lower, count), range.least, width, 0, count};
  const int table_bits = std::min(kMostTableBits, (int)std::bit_width((uint64_t)count) - 1);
  while (!upper.is_narrow() || !lower.is_narrow()) narrow_both(upper, lower, table_bits, read);
  if (upper.bits > 0) finish_both(upper, lower, read);
  return {count >= ranks.upper ? upper.low : 0u, count >= ranks.lower ? lower.low : 0u,
          count >= ranks.lower ? lower.above : count};
}

// The order statistics of a list of `count` magnitudes below 2^31; `visit(f)` calls f with each of them.
template <class Visit>
OrderStatistics order_statistics(int64_t count, Ranks ranks, const Visit& visit) {
  if (count <= kShortList) return order_statistics_by_sorting(count, ranks, visit);
  return order_statistics_by_counting(count, ranks, read_alone(visit));
}

}  // namespace sparsync
