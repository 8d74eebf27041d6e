// Blocks that wait for each other: what makes progress on a GPU, and what only seems to.
#include "entry.h"

namespace sparsync {

constexpr unsigned long long kPartial = 1ull << 62, kComplete = 2ull << 62, kValue = kPartial - 1;

// sums[i] = in[0] + ... + in[i] in one pass: decoupled look-back, tiles in the order of an atomic ticket.
__global__ void __launch_bounds__(64) scan_all(const unsigned* in, unsigned* sums, unsigned length, unsigned* ticket,
                                               unsigned long long* status) {
  __shared__ unsigned tile, prefix, warp_sums[2];
  if (threadIdx.x == 0) tile = atomicAdd(ticket, 1u);
  __syncthreads();
  const unsigned entry = tile * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  unsigned value = entry < length ? in[entry] : 0;
  for (unsigned distance = 1; distance < 32; distance *= 2) {
    const unsigned before = __shfl_up_sync(0xffffffffu, value, distance);
    if (lane >= distance) value += before;
  }
  if (lane == 31) warp_sums[warp] = value;
  __syncthreads();
  if (threadIdx.x == 0) {
    const unsigned long long total = warp_sums[0] + warp_sums[1];
    store_relaxed(&status[tile], (tile == 0 ? kComplete : kPartial) | total);
    unsigned long long before = 0;
    for (int other = static_cast<int>(tile) - 1; other >= 0; --other) {
      unsigned long long word = load_relaxed(&status[other]);
      for (; word == 0; word = load_relaxed(&status[other])) pause();
      before += word & kValue;
      if (word & kComplete) break;
    }
    if (tile > 0) store_relaxed(&status[tile], kComplete | (before + total));
    prefix = static_cast<unsigned>(before);
  }
  __syncthreads();
  if (entry < length) sums[entry] = prefix + value + (warp == 1 ? warp_sums[0] : 0);
}

// Each block waits for the next one: nothing promises that it ever starts.
__global__ void wait_for_next(unsigned long long* status) {
  if (threadIdx.x == 0 && blockIdx.x + 1 < gridDim.x) {
    while (load_relaxed(&status[blockIdx.x + 1]) == 0) pause();
  }
  __syncthreads();
  if (threadIdx.x == 0) store_relaxed(&status[blockIdx.x], 1);
}

// Ends only if all blocks of the grid run at the same time.
__global__ void wait_for_all(unsigned* arrived, unsigned long long* everyone) {
  if (threadIdx.x == 0 && atomicAdd(arrived, 1u) == gridDim.x - 1) store_relaxed(everyone, 1);
  while (load_relaxed(everyone) == 0) pause();
}

__global__ void wait_without_pause(unsigned long long* never) {
  while (load_relaxed(never) == 0) {
  }
}

// A whole warp polls together.
__global__ void wait_by_votes(unsigned long long* never) {
  while (!__any_sync(0xffffffffu, load_relaxed(never) != 0)) {
  }
}

// A whole block polls together.
__global__ void wait_at_barriers(unsigned long long* never) {
  __shared__ unsigned long long word;
  do {
    __syncthreads();
    if (threadIdx.x == 0) {
      pause();
      word = load_relaxed(never);
    }
    __syncthreads();
  } while (word == 0);
}

// One thread waits for another of its own block.
__global__ void wait_for_last_thread(unsigned long long* word) {
  if (threadIdx.x == blockDim.x - 1) store_relaxed(word, 1);
  if (threadIdx.x == 0) {
    while (load_relaxed(word) == 0) pause();
  }
}

}  // namespace sparsync

using namespace sparsync;

extern "C" int look_back(const unsigned* in, unsigned* sums, unsigned length, unsigned* ticket,
                         unsigned long long* status, char* message) {
  return report(message,
                [&] { launch(scan_all, (length + 63) / 64, 64, stream_t{}, in, sums, length, ticket, status); });
}

extern "C" int all_at_once(unsigned* arrived, unsigned long long* word, int grid, char* message) {
  return report(message, [&] { launch(wait_for_all, grid, 32, stream_t{}, arrived, word); });
}

#define WAIT_ENTRY(name)                                                                \
  extern "C" int call_##name(unsigned long long* words, int grid, char* message) {      \
    return report(message, [&] { launch(name, grid, 64, stream_t{}, words); });         \
  }
WAIT_ENTRY(wait_for_next)
WAIT_ENTRY(wait_without_pause)
WAIT_ENTRY(wait_by_votes)
WAIT_ENTRY(wait_at_barriers)
WAIT_ENTRY(wait_for_last_thread)
