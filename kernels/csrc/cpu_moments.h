// Mean and sum of squared deviations in a fixed order, so that every implementation finds the same bits.
//
// A tile is summed in a tree of adjacent pairs, missing entries counting as zero, and tiles are merged in such a tree
// by the pairwise update of Chan, Golub and LeVeque (1983); everything in double precision.
#pragma once

#include <cstdint>
#include <vector>

#include "core.h"

namespace sparsync {

struct Moments {
  double count = 0;
  double mean = 0;
  double deviations = 0;  // sum of (x - mean)^2
};

// Sums kTileSize numbers, overwriting them.
inline double pairwise_sum(double* numbers) {
  for (int64_t half = kTileSize / 2; half >= 1; half /= 2) {
    for (int64_t pair = 0; pair < half; ++pair) numbers[pair] = numbers[2 * pair] + numbers[2 * pair + 1];
  }
  return numbers[0];
}

inline double finite_or_zero(float value) { return magnitude(value) < kInfinityBits ? (double)value : 0.0; }

// Of 1 <= length <= kTileSize entries.
inline Moments tile_moments(const float* vector, int64_t length) {
  double numbers[kTileSize];
  for (int64_t index = 0; index < kTileSize; ++index) {
    numbers[index] = index < length ? finite_or_zero(vector[index]) : 0.0;
  }
  const double mean = pairwise_sum(numbers) / (double)length;
  for (int64_t index = 0; index < kTileSize; ++index) {
    const double deviation = index < length ? finite_or_zero(vector[index]) - mean : 0.0;
    numbers[index] = deviation * deviation;
  }
  return {(double)length, mean, pairwise_sum(numbers)};
}

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
