// Mean and sum of squared deviations in a fixed order, so that every implementation finds the same bits.
//
// Tiles (`Loops::moments`) are merged in a tree of adjacent pairs by the pairwise update of Chan, Golub and LeVeque
// (1983), in double precision.
#pragma once

#include <vector>

#include "cpu/loops.h"

namespace sparsync {

inline Moments merge(const Moments& left, const Moments& right) {
  const double count = left.count + right.count;
  const double delta = right.mean - left.mean;
  return {count, left.mean + delta * (right.count / count),
          (left.deviations + right.deviations) + (delta * delta) * (left.count * (right.count / count))};
}

// An odd last one passes unchanged to the next level.
inline Moments merge_all(std::vector<Moments> level) {
  while (level.size() > 1) {
    const size_t half = (level.size() + 1) / 2;
    for (size_t pair = 0; pair < half; ++pair) {
      level[pair] = 2 * pair + 1 < level.size() ? merge(level[2 * pair], level[2 * pair + 1]) : level[2 * pair];
    }
    level.resize(half);
  }
  return level.front();
}

}  // namespace sparsync
