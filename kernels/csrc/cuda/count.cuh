// The passes between: one digit of the magnitudes is counted, and the last block done with a group reads it off.
#pragma once

#include "cuda/decide.cuh"

namespace sparsync {

struct CountScratch {
  uint32_t bins[kHistogramBins];
  ListScratch lists;
  DecisionScratch decision;
  uint32_t is_last;
};

// The units of one group, tiles or chunks, that a block has counted since it last wrote down its counts.
struct Share {
  int group;
  int64_t units;
};

// Adds a block's share of a group to the histogram; who completes it decides. All threads.
template <int kStage>
__device__ inline void close_share(const Tables& tables, const Share& share, CountScratch& scratch) {
  if (share.group < 0) return;
  flush_bins(tables, scratch.bins, share.group);
  GroupState& state = tables.states[share.group];
  const int source = state.sources[kStage];
  if (threadIdx.x == 0) {
    __threadfence();  // with the barrier that ended the flush: all of the block's counts come first
    const GroupRow& row = tables.groups[share.group];
    const int64_t all = source == kVector ? row.tile_count : row.chunk_count;
    const uint32_t before = atomicAdd(&state.finished[kStage], static_cast<uint32_t>(share.units));
    scratch.is_last = before + share.units == all;
    __threadfence();  // before the barrier: what the other blocks wrote down is there for all threads
  }
  __syncthreads();
  if (!scratch.is_last) return;
  read_digit<kStage>(tables, share.group, source, scratch.decision);
}

template <int kStage>
__device__ inline void add_unit(const Tables& tables, int group, Share& share, CountScratch& scratch) {
  if (share.group != group) {
    close_share<kStage>(tables, share, scratch);
    share = {group, 0};
  }
  ++share.units;
}

// Counts one tile of a vector. Once a digit is known, so is how many entries there are from the lower rank's prefix on:
// if the arena has room for them they are listed, and only they are counted, for no other has a prefix that is sought.
template <int kStage>
__device__ inline void count_tile(const Tables& tables, int64_t position, const Tile& tile, CountScratch& scratch,
                                  int& turn) {
  GroupState& state = tables.states[tile.group];
  const DigitFilter filter = digit_filter(state);
  float values[kEntries];
  load_tile(tile, 0.0f, values);
  if (kStage == kFirstDigit || state.lower.above + state.lower.inside > tables.groups[tile.group].list_capacity) {
    count_digits<kStage>(scratch.bins, filter, values);
    return;
  }
  const uint32_t edge = filter.lower << (bits_below(kStage) + digit_bits(kStage));
  const uint32_t bound = edge == 0 ? 1u : edge;
  const uint32_t mask = mark(values, [=](float value) { return is_at_least(value, bound); });
  append_marked(tables, tile, position, mask, &state.collected, scratch.lists, turn,
                [&](float value) { count_digit<kStage>(scratch.bins, filter, magnitude(value)); });
  turn ^= 1;
}

template <int kStage>
__device__ inline void count_vectors(const Tables& tables, Share& share, CountScratch& scratch) {
  int turn = 0;
  const Range range = own_range(tables.tile_count);
  for (int64_t position = range.begin; position < range.end; ++position) {
    const Tile tile = find_tile(tables, position);
    if (tables.states[tile.group].sources[kStage] != kVector) continue;
    add_unit<kStage>(tables, tile.group, share, scratch);
    count_tile<kStage>(tables, position, tile, scratch, turn);
  }
}

// Entries of a list that a thread asks for before it counts the first.
constexpr int kListedAtOnce = 4;

// Counts the candidate lists, an even share of a list for each chunk of its group.
template <int kStage>
__device__ inline void count_lists(const Tables& tables, Share& share, CountScratch& scratch) {
  const Range range = own_range(tables.chunk_count);
  for (int64_t chunk = range.begin; chunk < range.end; ++chunk) {
    const int group = tables.chunk_groups[chunk];
    const GroupState& state = tables.states[group];
    if (state.sources[kStage] != kList) continue;
    add_unit<kStage>(tables, group, share, scratch);
    const GroupRow& row = tables.groups[group];
    const int64_t position = chunk - row.first_chunk;
    const int64_t length = list_length(state);
    const int64_t begin = row.list_begin + length * position / row.chunk_count;
    const int64_t end = row.list_begin + length * (position + 1) / row.chunk_count;
    const DigitFilter filter = digit_filter(state);
    for (int64_t first = begin + threadIdx.x; first < end; first += kListedAtOnce * kThreads) {
      uint32_t bits[kListedAtOnce];
#pragma unroll
      for (int turn = 0; turn < kListedAtOnce; ++turn) {
        const bool is_listed = first + turn * kThreads < end;
        bits[turn] = is_listed ? magnitude(tables.arena[first + turn * kThreads].value) : 0u;  // zeros are not counted
      }
#pragma unroll
      for (int turn = 0; turn < kListedAtOnce; ++turn) count_digit<kStage>(scratch.bins, filter, bits[turn]);
    }
  }
}

template <int kStage>
__global__ void __launch_bounds__(kThreads, kResidentBlocks) count_stage(Tables tables) {
  const bool has_vectors = tables.agenda->groups[kVector][kStage] != 0;
  // A list's first digit is counted while it is made.
  const bool has_lists = kStage != kFirstDigit && tables.agenda->groups[kList][kStage] != 0;
  if (!has_vectors && !has_lists) return;
  __shared__ CountScratch scratch;
  clear_bins(scratch.bins);
  Share share{-1, 0};
  if (has_vectors) count_vectors<kStage>(tables, share, scratch);
  if constexpr (kStage != kFirstDigit) {
    if (has_lists) count_lists<kStage>(tables, share, scratch);
  }
  close_share<kStage>(tables, share, scratch);
}

}  // namespace sparsync
