// Emission: what the cut selects, in ascending index, becomes the output and zero in the residual.
//
// Every unit of work, a bundle of a vector's tiles or a chunk of tiles' candidate slices, counts its entries above the threshold
// and equal to it, and finds the counts of all units before it by decoupled look-back (Merrill and Garland 2016). Units
// are taken by ticket, so that a unit only ever waits for units that have begun.
#pragma once

#include "cuda/lists.cuh"

namespace sparsync {

// Blocks that a multiprocessor holds: emission waits for memory and for other blocks, so it takes fewer registers.
constexpr int kEmittingBlocks = 5;

// Two counts below 2^31: entries above the threshold, and entries equal to it.
using Tally = unsigned long long;
constexpr int kTallyBits = 31;
constexpr Tally kTallyMask = (Tally{1} << kTallyBits) - 1;
// A status word is a tally with a flag: of the unit alone, or of all units of the group up to it.
constexpr int kFlagShift = 62;
static_assert(2 * kTallyBits == kFlagShift, "the counts and the flag share a word");
constexpr Tally kOwn = Tally{1} << kFlagShift;
constexpr Tally kInclusive = Tally{2} << kFlagShift;

__device__ inline Tally make_tally(uint32_t above, uint32_t ties) {
  return static_cast<Tally>(above) << kTallyBits | ties;
}

__device__ inline Tally warp_sum(Tally tally) {
  for (int distance = 16; distance >= 1; distance /= 2) tally += __shfl_xor_sync(kFullMask, tally, distance);
  return tally;
}

// Status words that a lane asks for at once; the units in flight are some hundreds.
constexpr int kWordsAhead = 4;

// The tally of units first, ..., unit - 1; all lanes of one warp.
__device__ inline Tally sum_back(const unsigned long long* status, int64_t first, int64_t unit) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  Tally before = 0;
  for (int64_t end = unit; end > first; end -= 32 * kWordsAhead) {
    Tally words[kWordsAhead];
#pragma unroll
    for (int turn = 0; turn < kWordsAhead; ++turn) {
      const int64_t other = end - 1 - lane - 32 * turn;
      words[turn] = other >= first ? load_relaxed(&status[other]) : kInclusive;
    }
#pragma unroll
    for (int turn = 0; turn < kWordsAhead; ++turn) {
      Tally word = words[turn];
      while (!__all_sync(kFullMask, word >> kFlagShift != 0)) {
        pause();
        if (word >> kFlagShift == 0) word = load_relaxed(&status[end - 1 - lane - 32 * turn]);
      }
      const uint32_t inclusive = __ballot_sync(kFullMask, word >> kFlagShift == 2);
      const int last = inclusive == 0 ? 31 : __ffs(static_cast<int>(inclusive)) - 1;
      before += warp_sum(lane <= last ? word & (kOwn - 1) : 0);
      if (inclusive != 0) return before;
    }
  }
  return before;
}

// Tells a unit's tally to those after it; one thread. Relaxed, because a status word is all that one unit tells
// another: no order with other memory is needed, and none of its fences is waited for.
__device__ inline void tell_own(unsigned long long* status, int64_t first, int64_t unit, Tally own) {
  store_relaxed(&status[unit], own | (unit == first ? kInclusive : kOwn));
}

// The tally of the units before one that has told its own, and tells the sum of both as well; all lanes of a warp.
__device__ inline Tally look_back(unsigned long long* status, int64_t first, int64_t unit, Tally own) {
  const bool is_teller = threadIdx.x % 32 == 0;
  const Tally before = sum_back(status, first, unit);
  if (is_teller && unit != first) store_relaxed(&status[unit], (before + own) | kInclusive);
  return before;
}

struct EmitScratch {
  int64_t unit;
  Tally before;
  Tally warp_tallies[2][kWarps];
  Tally tile_ends[kBundleTiles];           // of a bundle's tiles up to each
  uint32_t marks[kBundleTiles][kThreads];  // of each thread's entries: above in the low half, ties in the high one
  uint32_t above_totals[kBundleTiles][kWarps];
  uint32_t tie_totals[kBundleTiles][kWarps];
  uint32_t warp_sums[kWarps];
  uint32_t starts[kMostChunkTiles + 1];
};

// Units of work in ascending order. The ticket after the one in hand is drawn ahead, which cannot lock up: the lowest
// unit that is not done is in hand, for its holder's tickets before it are done.
class Tickets {
 public:
  __device__ inline explicit Tickets(uint32_t* counter) : counter_(counter) { draw(); }

  // The next unit, the same in all threads, by way of `unit` in shared memory.
  __device__ inline int64_t take(int64_t& unit) {
    __syncthreads();
    if (threadIdx.x == 0) unit = next_;
    draw();
    __syncthreads();
    return unit;
  }

  // The unit that the next call takes; in the first thread.
  __device__ inline int64_t ahead() const { return next_; }

 private:
  __device__ inline void draw() {
    if (threadIdx.x == 0) next_ = atomicAdd(counter_, 1u);
  }

  uint32_t* counter_;
  uint32_t next_ = 0;  // of the first thread
};

// What the entries of a unit come after.
__device__ inline Tally tally_before(unsigned long long* status, int64_t first, int64_t unit, Tally own,
                                     EmitScratch& scratch) {
  if (threadIdx.x < 32) {
    if (threadIdx.x == 0) tell_own(status, first, unit, own);
    const Tally before = look_back(status, first, unit, own);
    if (threadIdx.x == 0) scratch.before = before;
  }
  __syncthreads();
  return scratch.before;
}

// The outputs of one group. Where all ties are sent they count as above: there is less to tell apart.
struct Emitter {
  static constexpr uint32_t kNoTie = ~0u;  // no magnitude
  float* values;
  int32_t* indices;
  uint32_t capacity;
  uint32_t tie_count;
  uint32_t least;  // of the magnitudes above
  uint32_t tie;    // the magnitude of which the first `tie_count` are sent

  __device__ inline Emitter(const Tables& tables, int group)
      : values(tables.values + tables.groups[group].output_offset),
        indices(tables.indices + tables.groups[group].output_offset),
        capacity(static_cast<uint32_t>(tables.groups[group].capacity)),
        tie_count(static_cast<uint32_t>(tables.states[group].tie_count)),
        least(tables.states[group].threshold),
        tie(kNoTie) {
    if (tie_count != INT32_MAX) tie = least++;
  }

  __device__ inline bool has_ties() const { return tie != kNoTie; }
  __device__ inline bool is_above(float value) const { return is_at_least(value, least); }
  __device__ inline bool is_tie(float value) const { return magnitude(value) == tie; }

  // `above`, `ties`: how many such entries of the group come before this one, which is one of them.
  __device__ inline void emit(float value, int32_t index, bool is_above, uint32_t above, uint32_t ties,
                              float* residual) const {
    if (!is_above && ties >= tie_count) return;
    const uint32_t place = above + (ties < tie_count ? ties : tie_count);
    if (place >= capacity) return;
    values[place] = value;
    indices[place] = index;
    *residual = 0.0f;
  }
};

__device__ inline void report_group(const Tables& tables, int group, Tally all) {
  const GroupState& state = tables.states[group];
  const int64_t ties = static_cast<int64_t>(all & kTallyMask);
  const int64_t selected = static_cast<int64_t>(all >> kTallyBits) + (ties < state.tie_count ? ties : state.tie_count);
  const int64_t capacity = tables.groups[group].capacity;
  int32_t* const row = tables.report + static_cast<int64_t>(group) * kReportColumns;
  row[kReturned] = static_cast<int32_t>(selected < capacity ? selected : capacity);
  row[kSelected] = static_cast<int32_t>(selected);
  row[kFirstNonFinite] = state.first_non_finite == INT32_MAX ? -1 : state.first_non_finite;
  row[kStreamingPasses] = state.passes;
}

// Marks the entries of a tile that are above or ties, and counts them; no thread waits for another warp.
__device__ inline void mark_tile(const Emitter& emitter, const Tile& tile, int turn, EmitScratch& scratch) {
  float values[kEntries];
  load_tile(tile, float_of(kInfinityBits), values);
  const uint32_t above_mask = mark(values, [&](float value) { return emitter.is_above(value); });
  uint32_t tie_mask = 0;
  if (emitter.has_ties()) tie_mask = mark(values, [&](float value) { return emitter.is_tie(value); });
  scratch.marks[turn][threadIdx.x] = above_mask | tie_mask << 16;
  const uint32_t above_total = count_in_warp(above_mask).total, tie_total = count_in_warp(tie_mask).total;
  if (threadIdx.x % 32 == 31) {
    scratch.above_totals[turn][threadIdx.x / 32] = above_total;
    scratch.tie_totals[turn][threadIdx.x / 32] = tie_total;
  }
}

// The sum of a word's four bytes.
__device__ inline uint32_t byte_sum(uint32_t bytes) {
  const uint32_t pairs = (bytes & 0xff00ffu) + (bytes >> 8 & 0xff00ffu);
  return (pairs + (pairs >> 16)) & 0xffffu;
}

// The tally of a bundle of `tile_count` tiles, in every lane of the first warp, whose lanes have one warp's counts each.
__device__ inline Tally tally_bundle(int tile_count, EmitScratch& scratch) {
  static_assert(kBundleTiles * kWarps == 32, "a lane for each warp of each tile");
  const int lane = static_cast<int>(threadIdx.x), turn = lane / kWarps, warp = lane % kWarps;
  Tally sum = 0;
  if (turn < tile_count) {
    sum = make_tally(byte_sum(scratch.above_totals[turn][warp]), byte_sum(scratch.tie_totals[turn][warp]));
  }
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const Tally lower = __shfl_up_sync(kFullMask, sum, static_cast<unsigned>(distance));
    if (lane >= distance) sum += lower;
  }
  if (warp == kWarps - 1) scratch.tile_ends[turn] = sum;
  return __shfl_sync(kFullMask, sum, 31);
}

// Emits the marked entries of one tile, `before` which so many of the group come; all lanes of a warp.
__device__ inline void emit_marked(const Emitter& emitter, const Tables& tables, int64_t position, int turn,
                                   Tally before, const EmitScratch& scratch) {
  const uint32_t marks = scratch.marks[turn][threadIdx.x];
  const uint32_t above_mask = marks & 0xffffu, tie_mask = marks >> 16;
  const WarpCounts above_counts = count_in_warp(above_mask), tie_counts = count_in_warp(tie_mask);
  const uint32_t above_before = static_cast<uint32_t>(before >> kTallyBits);
  const uint32_t ties_before = static_cast<uint32_t>(before & kTallyMask);
  // Of a vector that is mostly zeros nearly all are ties, and most of those come too late.
  const uint32_t sent = above_mask | (ties_before < emitter.tie_count ? tie_mask : 0u);
  if (sent == 0) return;
  const Tile tile = find_tile(tables, position);
  const Places above = find_places(scratch.above_totals[turn], above_counts.before);
  Places ties{};
  if (emitter.has_ties()) ties = find_places(scratch.tie_totals[turn], tie_counts.before);
  for (uint32_t rest = sent; rest != 0; rest &= rest - 1) {
    const int entry = __ffs(static_cast<int>(rest)) - 1, offset = entry_index(entry);
    const int above_here = above.row_begin(entry / 4) + marked_before(above_mask, entry);
    const int ties_here = ties.row_begin(entry / 4) + marked_before(tie_mask, entry);
    emitter.emit(tile.residual[offset], tile.first_index + offset, (above_mask >> entry & 1u) != 0,
                 above_before + static_cast<uint32_t>(above_here), ties_before + static_cast<uint32_t>(ties_here),
                 tile.residual + offset);
  }
}

__device__ inline void emit_bundle(const Tables& tables, int group, int64_t bundle, EmitScratch& scratch) {
  const GroupRow& row = tables.groups[group];
  const Emitter emitter(tables, group);
  const int64_t first = (bundle - row.first_bundle) * kBundleTiles, rest = row.tile_count - first;
  const int tile_count = static_cast<int>(rest < kBundleTiles ? rest : kBundleTiles);
  const int64_t position = row.first_tile + first;
#pragma unroll 1
  for (int turn = 0; turn < tile_count; ++turn) {
    mark_tile(emitter, find_tile(tables, position + turn), turn, scratch);
  }
  __syncthreads();
  Tally own = 0;  // in the first warp
  if (threadIdx.x < 32) own = tally_bundle(tile_count, scratch);
  const Tally before = tally_before(tables.bundle_status, row.first_bundle, bundle, own, scratch);
#pragma unroll 1
  for (int turn = 0; turn < tile_count; ++turn) {
    const Tally earlier = turn == 0 ? 0 : scratch.tile_ends[turn - 1];
    emit_marked(emitter, tables, position + turn, turn, before + earlier, scratch);
  }
  if (threadIdx.x == 0 && rest <= kBundleTiles) report_group(tables, group, before + own);
}

// Emits groups that are read as vectors; all threads.
__device__ inline void emit_vectors(const Tables& tables, EmitScratch& scratch) {
  Tickets tickets(&tables.agenda->tickets[kVector]);
  while (true) {
    const int64_t bundle = tickets.take(scratch.unit);
    if (bundle >= tables.bundle_count) return;
    const int group = tables.bundle_groups[bundle];
    if (tables.states[group].sources[kEmission] == kVector) emit_bundle(tables, group, bundle, scratch);
  }
}

// One entry of a chunk's slices, taken one after another.
struct Listed {
  Candidate candidate;
  int64_t tile;
};

__device__ inline Listed find_listed(const Tables& tables, const GroupRow& group, int64_t first_tile,
                                     const uint32_t* starts, uint32_t position) {
  int low = 0, high = static_cast<int>(tables.chunk_tiles);
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (starts[middle] <= position) {
      low = middle;
    } else {
      high = middle;
    }
  }
  const int64_t place = static_cast<int64_t>(tables.slices[first_tile + low].begin) + (position - starts[low]);
  return {tables.arena[group.list_begin + place], first_tile + low};
}

// The lanes' bits of two conditions, as one thread sees them: counts before it in the warp, and of the warp.
struct WarpTally {
  Tally before;
  Tally total;
};

__device__ inline WarpTally tally_warp(bool is_above, bool is_tie) {
  const uint32_t lower_lanes = (1u << threadIdx.x % 32) - 1u;
  const uint32_t above = __ballot_sync(kFullMask, is_above), ties = __ballot_sync(kFullMask, is_tie);
  const int above_before = __popc(above & lower_lanes), ties_before = __popc(ties & lower_lanes);
  return {make_tally(static_cast<uint32_t>(above_before), static_cast<uint32_t>(ties_before)),
          make_tally(static_cast<uint32_t>(__popc(above)), static_cast<uint32_t>(__popc(ties)))};
}

// The tally of all candidates of a chunk, the same in all threads.
__device__ inline Tally tally_chunk(const Tables& tables, const Emitter& emitter, const GroupRow& group,
                                    int64_t first_tile, EmitScratch& scratch) {
  Tally own = 0;
  const uint32_t count = scratch.starts[kMostChunkTiles];
  for (uint32_t begin = 0; begin < count; begin += kThreads) {
    const uint32_t position = begin + threadIdx.x;
    float value = 0.0f;
    if (position < count) value = find_listed(tables, group, first_tile, scratch.starts, position).candidate.value;
    own += tally_warp(emitter.is_above(value), emitter.is_tie(value)).total;
  }
  if (threadIdx.x % 32 == 0) scratch.warp_tallies[0][threadIdx.x / 32] = own;
  __syncthreads();
  Tally all = 0;
  for (int warp = 0; warp < kWarps; ++warp) all += scratch.warp_tallies[0][warp];
  __syncthreads();
  return all;
}

__device__ inline void emit_chunk(const Tables& tables, const Emitter& emitter, const GroupRow& group,
                                  int64_t first_tile, Tally before, EmitScratch& scratch) {
  const uint32_t count = scratch.starts[kMostChunkTiles];
  int turn = 0;
  for (uint32_t begin = 0; begin < count; begin += kThreads, turn ^= 1) {
    const uint32_t position = begin + threadIdx.x;
    Listed listed{};
    if (position < count) listed = find_listed(tables, group, first_tile, scratch.starts, position);
    const float value = listed.candidate.value;
    const bool is_above = emitter.is_above(value), is_tie = emitter.is_tie(value);
    const WarpTally own = tally_warp(is_above, is_tie);
    if (threadIdx.x % 32 == 0) scratch.warp_tallies[turn][threadIdx.x / 32] = own.total;
    __syncthreads();
    Tally place = before + own.before;
    for (uint32_t warp = 0; warp < kWarps; ++warp) {
      const Tally total = scratch.warp_tallies[turn][warp];
      place += warp < threadIdx.x / 32 ? total : 0;
      before += total;
    }
    if (!is_above && !is_tie) continue;
    const PieceRow& piece = tables.pieces[tables.tile_pieces[listed.tile]];
    emitter.emit(value, listed.candidate.index, is_above, static_cast<uint32_t>(place >> kTallyBits),
                 static_cast<uint32_t>(place & kTallyMask),
                 piece.residual + (listed.candidate.index - piece.group_offset));
  }
}

// Where each tile's slice begins among those of the chunk, and behind the last the count of all.
__device__ inline void find_starts(const Tables& tables, int64_t first_tile, int64_t tile_count,
                                   EmitScratch& scratch) {
  uint32_t count = 0;
  if (threadIdx.x < tile_count) count = tables.slices[first_tile + threadIdx.x].count;
  const uint32_t start = block_exclusive_sum(count, scratch.warp_sums);
  if (threadIdx.x <= kMostChunkTiles) scratch.starts[threadIdx.x] = start;
  __syncthreads();
}

// Emits groups whose list is read; all threads.
__device__ inline void emit_lists(const Tables& tables, EmitScratch& scratch) {
  Tickets tickets(&tables.agenda->tickets[kList]);
  while (true) {
    const int64_t chunk = tickets.take(scratch.unit);
    if (chunk >= tables.chunk_count) return;
    const int group = tables.chunk_groups[chunk];
    if (tables.states[group].sources[kEmission] != kList) continue;
    const GroupRow& row = tables.groups[group];
    const Emitter emitter(tables, group);
    const int64_t first = (chunk - row.first_chunk) * tables.chunk_tiles;
    const int64_t rest = row.tile_count - first;
    find_starts(tables, row.first_tile + first, rest < tables.chunk_tiles ? rest : tables.chunk_tiles, scratch);
    const Tally own = tally_chunk(tables, emitter, row, row.first_tile + first, scratch);
    const Tally before = tally_before(tables.chunk_status, row.first_chunk, chunk, own, scratch);
    emit_chunk(tables, emitter, row, row.first_tile + first, before, scratch);
    if (threadIdx.x == 0 && rest <= tables.chunk_tiles) report_group(tables, group, before + own);
  }
}

// A block that is through with the lists draws tiles: none that draws tiles has a chunk that others wait for.
__global__ void __launch_bounds__(kThreads, kEmittingBlocks) emit(Tables tables) {
  __shared__ EmitScratch scratch;
  if (tables.agenda->groups[kList][kEmission] != 0) emit_lists(tables, scratch);
  if (tables.agenda->groups[kVector][kEmission] != 0) emit_vectors(tables, scratch);
}

}  // namespace sparsync
