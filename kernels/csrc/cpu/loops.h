// The loops over a tile, one table of them for each instruction set; `cpu/loops.cpp` is compiled once per set.
#pragma once

#include <cstdint>

#include "request.h"

namespace sparsync {

// A candidate: its index within the group and its corrected value.
struct Entry {
  uint32_t index;
  float value;
};

// Places behind the last candidate that a tile's list may scribble on.
constexpr int kListSlack = 4;

struct Listed {
  int64_t count;             // entries written
  int64_t first_non_finite;  // offset within the tile, or -1
};

constexpr int kLadderSize = 6;

struct Moments {
  double count = 0;
  double mean = 0;
  double deviations = 0;  // sum of (x - mean)^2
};

// An order statistic of a list.
struct Ranked {
  uint32_t bits;
  int64_t above_count;  // how many are larger
};
constexpr int64_t kMostRanked = 256;

struct Loops {
  const char* instruction_set;
  // residual += gradient for `length` <= kTileSize entries, except where the sum is not finite. Entries whose ranked
  // magnitude is at least `bound` >= 1 go to `out` in order, numbered from `first_index`;
  // `out` has room for `length` + kListSlack.
  Listed (*add_and_list)(GradientType type, const void* gradient, float* residual, int64_t length, uint32_t bound,
                         uint32_t first_index, Entry* out);
  // The same list of a vector that is already corrected; bound 0 lists every finite entry.
  int64_t (*list)(const float* vector, int64_t length, uint32_t bound, uint32_t first_index, Entry* out);
  // counts[j] += how many ranked magnitudes are at least bounds[j] >= 1.
  void (*count)(const float* vector, int64_t length, const uint32_t* bounds, int64_t* counts);
  // maxima[i] = the largest of it and the ranked magnitudes of entries i, i + width, i + 2 width, ...; width % 16 == 0.
  void (*fold)(const float* vector, int64_t length, int64_t width, uint32_t* maxima);
  // Of 1 <= length <= kTileSize entries, what is not finite counting as zero: sums of doubles in a tree of adjacent
  // pairs over kTileSize places, those beyond the length being zero.
  Moments (*moments)(const float* vector, int64_t length);
  // The `rank`-th largest of `count` <= kMostRanked magnitudes, 1 <= rank <= count, by comparing all; zeros follow
  // them up to a multiple of 16.
  Ranked (*rank)(const uint32_t* magnitudes, int64_t count, int64_t rank);
};

const Loops& loops();  // of the best instruction set this processor has

}  // namespace sparsync
