// Chunk-wise Top-k in one pass: a block adds a tile, which is a chunk of its group, decides in registers and emits.
//
// A tile's cut is read off histograms of its own, digit by digit. What its entries come after is found by look-back, as
// in emit.cuh; how many they are is known before the cut is, so other blocks are told early. (What tables.cuh calls a
// chunk is another thing.)
#pragma once

#include "cuda/accumulate.cuh"
#include "cuda/decide.cuh"
#include "cuda/emit.cuh"

namespace sparsync {

struct TileScratch {
  uint32_t bins[kHistogramBins];
  DecisionScratch decision;
  uint32_t unusable_count;
  uint32_t tie_totals[kWarps];
  uint32_t sent_totals[kWarps];
  int64_t unit;
  Tally before;
};

// What a tile sends: magnitudes of at least `least`, and of those that are `tie` the first `tie_count`.
struct TileCut {
  uint32_t least;
  uint32_t tie;
  int32_t tie_count;
};

// Beyond its end a tile goes on with what is never sent.
__device__ inline void fill_up(const Tile& tile, float (&values)[kEntries]) {
  if (tile.count == kTileSize) return;
#pragma unroll
  for (int entry = 0; entry < kEntries; ++entry) {
    if (entry_index(entry) >= tile.count) values[entry] = float_of(kInfinityBits);
  }
}

// Counts the first digit of a tile's magnitudes; returns how many of its entries are finite. All threads.
__device__ inline int32_t count_first_digit(const float (&values)[kEntries], TileScratch& scratch) {
  if (threadIdx.x == 0) scratch.unusable_count = 0;
  clear_bins(scratch.bins);
  const uint32_t unusable = mark(values, [](float value) { return magnitude(value) >= kInfinityBits; });
  if (unusable != 0) atomicAdd(&scratch.unusable_count, static_cast<uint32_t>(__popc(unusable)));
  count_digits<kFirstDigit>(scratch.bins, {}, values);
  __syncthreads();
  return static_cast<int32_t>(kTileSize - scratch.unusable_count);
}

// Counts and reads one more digit of an order statistic of a tile; all threads.
template <int kStage>
__device__ inline OrderStatistic read_next_digit(const OrderStatistic& known, const float (&values)[kEntries],
                                                 int32_t rank, TileScratch& scratch) {
  clear_bins(scratch.bins);
  count_digits<kStage>(scratch.bins, {known.prefix, known.prefix}, values);
  __syncthreads();
  return refine<kStage>(known, scratch.bins, rank, scratch.decision);
}

// Whether no further digit is needed: all entries with the leading bits of the `rank`-th are among the first `rank`.
__device__ inline bool is_settled(const OrderStatistic& statistic, int32_t rank) {
  return statistic.is_absent != 0 || statistic.above + statistic.inside == rank;
}

// The cut of a tile of which the first digit is counted; all threads.
__device__ inline TileCut find_cut(const float (&values)[kEntries], int32_t share, TileScratch& scratch) {
  OrderStatistic found = refine<kFirstDigit>(OrderStatistic{}, scratch.bins, share, scratch.decision);
  int bits = bits_below(kFirstDigit);
  if (!is_settled(found, share)) {
    found = read_next_digit<kSecondDigit>(found, values, share, scratch);
    bits = bits_below(kSecondDigit);
  }
  if (!is_settled(found, share)) {
    found = read_next_digit<kLastDigit>(found, values, share, scratch);
    bits = bits_below(kLastDigit);
  }
  const int32_t rest = static_cast<int32_t>(share - found.above);
  if (found.is_absent != 0) return {1u, 0u, rest};  // zeros
  const uint32_t edge = found.prefix << bits;
  if (is_settled(found, share)) return {edge == 0 ? 1u : edge, Emitter::kNoTie, 0};
  return {edge + 1, edge, rest};
}

// Which of the thread's entries a cut sends; all threads.
__device__ inline uint32_t mark_sent(const float (&values)[kEntries], const TileCut& cut, TileScratch& scratch) {
  uint32_t sent = mark(values, [&](float value) { return is_at_least(value, cut.least); });
  if (cut.tie == Emitter::kNoTie) return sent;
  const uint32_t ties = mark(values, [&](float value) { return magnitude(value) == cut.tie; });
  const WarpCounts counts = count_in_warp(ties);
  if (threadIdx.x % 32 == 31) scratch.tie_totals[threadIdx.x / 32] = counts.total;
  __syncthreads();
  const Places places = find_places(scratch.tie_totals, counts.before);
#pragma unroll
  for (int entry = 0; entry < kEntries; ++entry) {
    const int place = places.row_begin(entry / 4) + marked_before(ties, entry);
    if ((ties >> entry & 1u) != 0 && place < cut.tie_count) sent |= 1u << entry;
  }
  return sent;
}

// Tells how many entries a tile sends; one thread. Here and in emission the tile is found again: what is read off the
// tables anew takes no registers until then.
__device__ inline void tell_count(const Tables& tables, int64_t position, int32_t count) {
  const GroupRow& row = tables.groups[find_tile(tables, position).group];
  tell_own(tables.tile_status, row.first_tile, position, make_tally(static_cast<uint32_t>(count), 0));
}

// Emits the thread's marked entries, `count` of the tile, which are read again; all threads.
__device__ inline void emit_tile(const Tables& tables, uint32_t sent, int32_t count, TileScratch& scratch) {
  const Tile tile = find_tile(tables, scratch.unit);
  const GroupRow& row = tables.groups[tile.group];
  const WarpCounts counts = count_in_warp(sent);
  if (threadIdx.x % 32 == 31) scratch.sent_totals[threadIdx.x / 32] = counts.total;
  if (threadIdx.x < 32) {
    const Tally own = make_tally(static_cast<uint32_t>(count), 0);
    const Tally before = look_back(tables.tile_status, row.first_tile, scratch.unit, own);
    if (threadIdx.x == 0) scratch.before = before;
  }
  __syncthreads();
  if (sent == 0) return;
  const Places places = find_places(scratch.sent_totals, counts.before);
  const int64_t first = static_cast<int64_t>(scratch.before >> kTallyBits);
  for (uint32_t rest = sent; rest != 0; rest &= rest - 1) {
    const int entry = __ffs(static_cast<int>(rest)) - 1, offset = entry_index(entry);
    const int64_t place = first + places.row_begin(entry / 4) + marked_before(sent, entry);
    if (place >= row.capacity) return;
    tables.values[row.output_offset + place] = tile.residual[offset];
    tables.indices[row.output_offset + place] = tile.first_index + offset;
    tile.residual[offset] = 0.0f;
  }
}

template <class Gradient>
__device__ inline void select_from_tile(const Tables& tables, TileScratch& scratch) {
  const Tile tile = find_tile(tables, scratch.unit);
  const GroupRow& row = tables.groups[tile.group];
  const int64_t first = tile.first_index;
  const int32_t share =
      static_cast<int32_t>(chunk_share(row.target_count, row.dimension, first, first + tile.count));
  float values[kEntries];
  add_tile<Gradient>(tile, tables.states[tile.group], values);
  fill_up(tile, values);
  int32_t count = share == 0 ? 0 : count_first_digit(values, scratch);
  count = count < share ? count : share;
  if (threadIdx.x == 0) tell_count(tables, scratch.unit, count);
  const uint32_t sent = count == 0 ? 0u : mark_sent(values, find_cut(values, share, scratch), scratch);
  emit_tile(tables, sent, count, scratch);
}

template <class Gradient>
__global__ void __launch_bounds__(kThreads, kResidentBlocks) select_by_tile(Tables tables) {
  __shared__ TileScratch scratch;
  Tickets tickets(&tables.agenda->tickets[kVector]);
  while (true) {
    if (tickets.take(scratch.unit) >= tables.tile_count) return;
    select_from_tile<Gradient>(tables, scratch);
  }
}

// A group's last tile has told how many entries all of them send.
__global__ void __launch_bounds__(kThreads) report_groups(Tables tables) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t group = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; group < tables.group_count;
       group += stride) {
    const GroupRow& row = tables.groups[group];
    const Tally all = tables.tile_status[row.first_tile + row.tile_count - 1] & (kOwn - 1);
    report_group(tables, static_cast<int>(group), all);
  }
}

}  // namespace sparsync
