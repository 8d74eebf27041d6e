// Chunk-wise Top-k in one pass: a block adds a tile, which is a chunk of its group, decides in registers and emits.
//
// A tile that sends few entries ranks those that could be among them. Another's cut is read off histograms of its own,
// digit by digit. What its entries come after is found by look-back, as in emit.cuh; how many they are is known before
// the cut is, so other blocks are told early. While a tile is decided, the block's next one is on its way to the cache.
// (What tables.cuh calls a chunk is another thing.)
#pragma once

#include "cuda/accumulate.cuh"
#include "cuda/decide.cuh"
#include "cuda/emit.cuh"

namespace sparsync {

// What a tile sends: magnitudes of at least `least`, and of those that are `tie` the first `tie_count`.
struct TileCut {
  uint32_t least;
  uint32_t tie;
  int32_t tie_count;
};

// Entries that are ranked at most: of random ones some ten reach the least of eight warps' largest.
constexpr uint32_t kMostRanked = 64;

struct TileScratch {
  uint32_t bins[kHistogramBins];
  DecisionScratch decision;
  uint32_t unusable_count;
  uint32_t largest[kWarps];
  uint32_t ranked_count;
  uint32_t ranked[kMostRanked];
  TileCut cut;
  uint32_t tie_totals[kWarps];
  uint32_t sent_totals[kWarps];
  int64_t unit;
  Tally before;
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

// The largest magnitude of a warp's entries, in all lanes.
__device__ inline uint32_t largest_in_warp(const float (&values)[kEntries]) {
  uint32_t largest = 0;
#pragma unroll
  for (int entry = 0; entry < kEntries; ++entry) {
    const uint32_t own = ranked_magnitude(values[entry]);
    largest = own > largest ? own : largest;
  }
#pragma unroll
  for (int distance = 16; distance >= 1; distance /= 2) {
    const uint32_t other = __shfl_xor_sync(kFullMask, largest, distance);
    largest = other > largest ? other : largest;
  }
  return largest;
}

// The `share`-th largest of the warps' largest magnitudes, which at least so many entries reach; all threads.
__device__ inline uint32_t find_floor(const float (&values)[kEntries], int32_t share, TileScratch& scratch) {
  const uint32_t own = largest_in_warp(values);
  const int lane = static_cast<int>(threadIdx.x % 32);
  if (lane == 0) scratch.largest[threadIdx.x / 32] = own;
  if (threadIdx.x == 0) scratch.ranked_count = 0;
  __syncthreads();
  const uint32_t mine = scratch.largest[lane % kWarps];
  int before = 0;
#pragma unroll
  for (int other = 0; other < kWarps; ++other) {
    const uint32_t theirs = scratch.largest[other];
    before += theirs > mine || (theirs == mine && other < lane) ? 1 : 0;
  }
  const uint32_t found = __ballot_sync(kFullMask, lane < kWarps && before == share - 1);
  return __shfl_sync(kFullMask, mine, __ffs(static_cast<int>(found)) - 1);
}

// Puts the entries that reach the floor aside, to be ranked; whether there is room for all of them. All threads.
__device__ inline bool gather_ranked(const float (&values)[kEntries], uint32_t floor, TileScratch& scratch) {
  const uint32_t reaching = mark(values, [=](float value) { return is_at_least(value, floor); });
  if (reaching != 0) {
    uint32_t place = atomicAdd(&scratch.ranked_count, static_cast<uint32_t>(__popc(reaching)));
#pragma unroll
    for (int entry = 0; entry < kEntries; ++entry) {
      if ((reaching >> entry & 1u) == 0) continue;
      if (place < kMostRanked) scratch.ranked[place] = magnitude(values[entry]);
      ++place;
    }
  }
  __syncthreads();
  return scratch.ranked_count <= kMostRanked;
}

// The cut of a tile by the ranks of those put aside, of which there are `share` at least; all threads.
__device__ inline TileCut cut_by_rank(int32_t share, TileScratch& scratch) {
  const int count = static_cast<int>(scratch.ranked_count), thread = static_cast<int>(threadIdx.x);
  if (thread < count) {
    const uint32_t mine = scratch.ranked[thread];
    int32_t above = 0, alike = 0;
    bool is_first = true;
    for (int other = 0; other < count; ++other) {
      const uint32_t theirs = scratch.ranked[other];
      above += theirs > mine ? 1 : 0;
      alike += theirs == mine ? 1 : 0;
      is_first = is_first && (theirs != mine || other >= thread);
    }
    const bool is_edge = is_first && above < share && share <= above + alike;
    const bool is_apart = above + alike == share;
    if (is_edge) scratch.cut = is_apart ? TileCut{mine, Emitter::kNoTie, 0} : TileCut{mine + 1, mine, share - above};
  }
  __syncthreads();
  return scratch.cut;
}

// The cut of a tile of which the first digit is counted; all threads.
__device__ inline TileCut cut_by_digits(const float (&values)[kEntries], int32_t share, TileScratch& scratch) {
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

// The cut of a tile with a floor, or of which the first digit is counted; all threads.
__device__ inline TileCut find_cut(const float (&values)[kEntries], int32_t share, uint32_t floor,
                                   TileScratch& scratch) {
  if (floor != 0) {
    if (gather_ranked(values, floor, scratch)) return cut_by_rank(share, scratch);
    count_first_digit(values, scratch);
  }
  return cut_by_digits(values, share, scratch);
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

// Has a tile brought to the cache; one thread. Nothing is waited for.
template <class Gradient>
__device__ inline void fetch_tile(const Tables& tables, int64_t position) {
  if (position >= tables.tile_count) return;
  const Tile tile = find_tile(tables, position);
  if (!tile.is_whole) return;
  using One = typename Gradient::One;
  fetch(static_cast<const One*>(tile.gradients) + tile.offset, kTileSize * sizeof(One));
  fetch(tile.residual, kTileSize * sizeof(float));
}

template <class Gradient>
__device__ inline void select_from_tile(const Tables& tables, const Tickets& tickets, TileScratch& scratch) {
  const Tile tile = find_tile(tables, scratch.unit);
  const GroupRow& row = tables.groups[tile.group];
  const int64_t first = tile.first_index;
  const int32_t share =
      static_cast<int32_t>(chunk_share(row.target_count, row.dimension, first, first + tile.count));
  float values[kEntries];
  add_tile<Gradient>(tile, tables.states[tile.group], values);
  fill_up(tile, values);
  const uint32_t floor = share == 0 || share > kWarps ? 0u : find_floor(values, share, scratch);
  int32_t count = share;
  if (share != 0 && floor == 0) {
    const int32_t finite = count_first_digit(values, scratch);
    count = finite < share ? finite : share;
  }
  if (threadIdx.x == 0) {
    tell_count(tables, scratch.unit, count);
    fetch_tile<Gradient>(tables, tickets.ahead());
  }
  const uint32_t sent = count == 0 ? 0u : mark_sent(values, find_cut(values, share, floor, scratch), scratch);
  emit_tile(tables, sent, count, scratch);
}

template <class Gradient>
__global__ void __launch_bounds__(kThreads, kResidentBlocks) select_by_tile(Tables tables) {
  __shared__ TileScratch scratch;
  Tickets tickets(&tables.agenda->tickets[kVector]);
  while (true) {
    if (tickets.take(scratch.unit) >= tables.tile_count) return;
    select_from_tile<Gradient>(tables, tickets, scratch);
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
