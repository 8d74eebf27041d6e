// Candidate lists: a tile appends its entries, in order, to the group's section of the arena.
//
// Where a tile's slice lies depends on timing, which entries are listed does not; whoever needs order goes through the
// slices in the order of the tiles. A section that overflows keeps counting and is not used.
#pragma once

#include "cuda/tile.cuh"

namespace sparsync {

// Two copies taken in turn: a block may write one while its last threads still read the other.
struct ListScratch {
  uint32_t warp_totals[2][kWarps];
  uint32_t begin[2];
};

// Entries of the list that is in a group's section: a later one has taken the place of that made while adding.
__device__ inline int64_t list_length(const GroupState& state) {
  return state.collected > 0 ? state.collected : state.listed;
}

// Appends the thread's marked entries, few of them, which are read again, and shows each to `visit`; all threads of the
// block. `turn` alternates from call to call.
template <class Visit>
__device__ inline void append_marked(const Tables& tables, const Tile& tile, int64_t position, uint32_t mask,
                                     uint32_t* counter, ListScratch& scratch, int turn, const Visit& visit) {
  const WarpCounts counts = count_in_warp(mask);
  if (threadIdx.x % 32 == 31) scratch.warp_totals[turn][threadIdx.x / 32] = counts.total;
  __syncthreads();
  const Places places = find_places(scratch.warp_totals[turn], counts.before);
  if (places.total == 0) {
    if (threadIdx.x == 0) tables.slices[position] = {0, 0};
    return;
  }
  if (threadIdx.x == 0) {
    scratch.begin[turn] = atomicAdd(counter, static_cast<unsigned>(places.total));
    tables.slices[position] = {scratch.begin[turn], static_cast<uint32_t>(places.total)};
  }
  __syncthreads();
  const GroupRow& group = tables.groups[tile.group];
  Candidate* const section = tables.arena + group.list_begin;
  const uint32_t begin = scratch.begin[turn], capacity = static_cast<uint32_t>(group.list_capacity);
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int entry = __ffs(static_cast<int>(rest)) - 1;
    const uint32_t place = begin + static_cast<uint32_t>(places.row_begin(entry / 4) + marked_before(mask, entry));
    const int offset = entry_index(entry);
    const float value = tile.residual[offset];
    visit(value);
    if (place < capacity) section[place] = {value, tile.first_index + offset};
  }
}

}  // namespace sparsync
