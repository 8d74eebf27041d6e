// What the kernels of one call read and write: tables of pieces and groups, the state of every group, the arena.
//
// Everything lies in one workspace on the device. The host writes the tables by kernel arguments (no copy from host
// memory, so a call can be captured in a graph); every decision is taken on the device and kept in `GroupState`.
#pragma once

#include "portability.h"

#include "core.h"

namespace sparsync {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
// Blocks that a multiprocessor holds at once: the compiler gives each thread at most 64 registers.
constexpr int kResidentBlocks = 4;
// Tiles that one block looks at when it works on a candidate list or on moments: a power of two between these two, no
// larger than it takes to give the blocks of a large GPU a chunk each. No result depends on it.
constexpr int kFewestChunkTiles = 4;
constexpr int kMostChunkTiles = 64;
constexpr int64_t kWantedChunks = 512;
// Tiles of a group that one block emits together: while it waits for other blocks, as many are on their way.
constexpr int kBundleTiles = 4;
constexpr unsigned kFullMask = 0xffffffffu;

// A magnitude is read in three digits from the top: 11, 10 and 10 bits. Two ranks are followed at once.
constexpr int kHistogramBins = 2048;
__host__ __device__ constexpr int digit_bits(int stage) { return stage == 0 ? 11 : 10; }
__host__ __device__ constexpr int bits_below(int stage) { return 20 - 10 * stage; }

// What is done with a group, in this order: its order statistics are counted digit by digit, and it is emitted.
enum Stage : int { kFirstDigit = 0, kSecondDigit = 1, kLastDigit = 2, kEmission = 3, kStages = 4 };
// Where the entries are read from: the residual itself, or the candidate list; a stage may be left out.
enum Source : int { kNowhere = -1, kVector = 0, kList = 1, kSources = 2 };
// What the pass that adds the gradient takes along.
enum Gathering : int { kNothing = 0, kCandidates = 1, kDigitCounts = 2 };

// The released refinement can reach t, t/2, 3t/2, t/4, 3t/4 and 9t/4.
constexpr int kLadderSize = 6;

struct PieceRow {
  const void* gradient;
  float* residual;
  int64_t length;
  int64_t group_offset;
  int64_t first_tile;
  int32_t group;
  int32_t is_aligned;  // residual to 16 bytes, gradient to four entries
};

struct GroupRow {
  int64_t dimension;
  int64_t target_count;
  int64_t capacity;
  int64_t output_offset;
  int64_t first_tile;
  int64_t tile_count;
  int64_t first_chunk;
  int64_t chunk_count;
  int64_t first_bundle;
  int64_t list_begin;     // of its section of the arena
  int64_t list_capacity;  // 0: no list is kept
  double parameter;
};

__host__ __device__ inline int64_t bundle_count(const GroupRow& group) {
  return (group.tile_count + kBundleTiles - 1) / kBundleTiles;
}

struct alignas(8) Candidate {
  float value;
  int32_t index;
};

// A tile's candidates: entries [begin, begin + count) of the group's section.
struct Slice {
  uint32_t begin;
  uint32_t count;
};

struct Moments {
  double count;
  double mean;
  double deviations;  // sum of (x - mean)^2
};

// An order statistic whose leading bits are known.
struct OrderStatistic {
  uint32_t prefix;
  uint32_t is_absent;  // fewer non-zero magnitudes than the rank: the value and the prefix are 0
  int64_t above;       // magnitudes with a larger prefix
  int64_t inside;      // magnitudes with this prefix
};

struct GroupState {
  int32_t sources[kStages];  // of each stage; who decides writes a later one's than the other blocks of the kernel read
  int32_t gathering;
  int32_t passes;
  uint32_t bound;
  uint32_t margin;
  uint32_t listed;     // candidates found while adding; may exceed the list's capacity
  uint32_t collected;  // entries of the list made with a later digit; 0: none was made
  uint32_t finished[3];  // units of work done in each counting stage
  int32_t first_non_finite;
  uint32_t threshold;  // the cut
  int32_t tie_count;   // clipped to int32, which no count of ties reaches
  uint32_t ladder_counts[kLadderSize];
  uint32_t ladder[kLadderSize];  // thresholds in magnitude bits
  OrderStatistic upper;
  OrderStatistic lower;
};

// How many groups each kernel has to serve, and the next unit of work of the two emissions (of the chunked rule, which
// has none, of its only pass).
struct Agenda {
  uint32_t groups[kSources][kStages];
  uint32_t tickets[kSources];
};

struct Tables {
  Rule rule;
  int64_t piece_count;
  int64_t group_count;
  int64_t tile_count;
  int64_t chunk_tiles;  // of one chunk
  int64_t chunk_count;
  int64_t bundle_count;
  int64_t output_count;
  const PieceRow* pieces;
  const GroupRow* groups;
  Agenda* agenda;
  GroupState* states;
  uint32_t* histograms;               // [groups, kHistogramBins]
  unsigned long long* bundle_status;  // of the look-back
  unsigned long long* chunk_status;
  unsigned long long* tile_status;    // of the look-back of the chunked rule
  int32_t* tile_pieces;
  int32_t* chunk_groups;
  int32_t* bundle_groups;
  Slice* slices;                      // [tiles]
  Moments* moments;                   // [tiles], then [chunks]
  Candidate* arena;
  float* values;
  int32_t* indices;
  int32_t* report;
  int32_t* memory;
};

// The last row whose `first` is at most `position`; empty pieces are never found.
template <class Row>
__device__ inline int64_t find_row(const Row* rows, int64_t row_count, int64_t Row::* first, int64_t position) {
  int64_t low = 0;
  int64_t high = row_count;
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    if (rows[middle].*first <= position) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

// A block's share of `count` units of work: neighbours, for those are mostly of one group.
struct Range {
  int64_t begin;
  int64_t end;
};

__device__ inline Range own_range(int64_t count) {
  return {count * blockIdx.x / gridDim.x, count * (blockIdx.x + 1) / gridDim.x};
}

// Words of the workspace that start as zeros.
struct ClearedWords {
  unsigned long long* begin;
  int64_t count;
};

// Part of a table, as a kernel argument: arguments may take 4 KB, since CUDA 12.1 32764 bytes, but not in a graph, where
// CUDA 12 ended the process on longer ones.
template <int kWords>
struct Parcel {
  unsigned long long words[kWords];
};
constexpr int kSmallParcel = 440;
#if defined(CUDART_VERSION) && CUDART_VERSION < 12010
constexpr int kLargeParcel = kSmallParcel;
#else
constexpr int kLargeParcel = 4000;
#endif

// Loops of few turns are not unrolled: to divide for the number of turns would cost more than it saves.
template <int kWords>
__global__ void __launch_bounds__(kThreads) upload(unsigned long long* destination, Parcel<kWords> parcel,
                                                   int word_count, ClearedWords cleared) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kThreads;
  const int64_t begin = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
#pragma unroll 1
  for (int64_t word = begin; word < word_count; word += stride) destination[word] = parcel.words[word];
#pragma unroll 1
  for (int64_t word = begin; word < cleared.count; word += stride) cleared.begin[word] = 0;
}

// Has a stage of a group done, from the residual or the list.
__device__ inline void schedule(const Tables& tables, GroupState& state, int source, int stage) {
  state.sources[stage] = source;
  state.passes += source == kVector ? 1 : 0;
  atomicAdd(&tables.agenda->groups[source][stage], 1u);
}

__device__ inline void plan_group(const Tables& tables, int64_t group) {
  const GroupRow& row = tables.groups[group];
  GroupState& state = tables.states[group];
  state.first_non_finite = INT32_MAX;
  state.passes = 1;
  for (int32_t& source : state.sources) source = kNowhere;
  state.gathering = kNothing;
  state.tie_count = INT32_MAX;
  if (tables.rule == Rule::kGaussianKReleased || tables.rule == Rule::kChunkedTopK) return;
  if (tables.rule == Rule::kThreshold || row.target_count == row.dimension) {
    state.threshold = tables.rule == Rule::kThreshold ? magnitude(static_cast<float>(row.parameter))
                      : tables.rule == Rule::kGaussianK ? 1u
                                                        : 0u;
    schedule(tables, state, kVector, kEmission);
    return;
  }
  state.bound = static_cast<uint32_t>(tables.memory[group * kMemoryColumns + kBound]);
  state.margin = static_cast<uint32_t>(tables.memory[group * kMemoryColumns + kMargin]);
  const bool is_bound = state.bound >= 1 && state.bound < kInfinityBits && row.list_capacity > 0;
  state.gathering = is_bound ? kCandidates : kDigitCounts;
}

// Fills the outputs' places as unused, finds every tile's piece, every chunk's and bundle's group, plans the first pass.
__global__ void __launch_bounds__(kThreads) prepare(Tables tables) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kThreads;
  const int64_t begin = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
#pragma unroll 1
  for (int64_t place = begin; place < tables.output_count; place += stride) {
    tables.values[place] = 0.0f;
    tables.indices[place] = -1;
  }
  for (int64_t tile = begin; tile < tables.tile_count; tile += stride) {
    tables.tile_pieces[tile] =
        static_cast<int32_t>(find_row(tables.pieces, tables.piece_count, &PieceRow::first_tile, tile));
  }
  for (int64_t chunk = begin; chunk < tables.chunk_count; chunk += stride) {
    tables.chunk_groups[chunk] =
        static_cast<int32_t>(find_row(tables.groups, tables.group_count, &GroupRow::first_chunk, chunk));
  }
  for (int64_t bundle = begin; bundle < tables.bundle_count; bundle += stride) {
    tables.bundle_groups[bundle] =
        static_cast<int32_t>(find_row(tables.groups, tables.group_count, &GroupRow::first_bundle, bundle));
  }
  for (int64_t group = begin; group < tables.group_count; group += stride) plan_group(tables, group);
}

}  // namespace sparsync
