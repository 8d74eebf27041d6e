// Threads that use the same memory, in an order that CUDA promises or in none: what a detector of races must tell apart.
#include "entry.h"

namespace sparsync {

constexpr int kBlock = 64;

// Every thread writes its slot, and the last block that has come reads all of them. `left_out`: 0 nothing; 1 the first
// barrier, 2 the fence before the block says that it has come, 3 the fence after that, 4 the last barrier; 5 the first
// fence stands before the barrier, so that it is of each thread's own slot; 6 one slot is written once more, too late.
__global__ void __launch_bounds__(kBlock) gather(int* slots, unsigned* arrived, int* sums, int left_out) {
  __shared__ bool is_last;
  slots[blockIdx.x * kBlock + threadIdx.x] = 1;
  if (left_out == 5) __threadfence();
  if (left_out != 1) __syncthreads();
  if (threadIdx.x == 0) {
    if (left_out != 2 && left_out != 5) __threadfence();
    is_last = atomicAdd(arrived, 1u) + 1 == gridDim.x;
    if (left_out == 6) slots[blockIdx.x * kBlock] = 1;
    if (left_out != 3) __threadfence();
  }
  if (left_out != 4) __syncthreads();
  if (!is_last) return;
  int sum = 0;
  for (unsigned block = 0; block < gridDim.x; ++block) sum += slots[block * kBlock + threadIdx.x];
  sums[threadIdx.x] = sum;
}

// Every thread reads what another of its block has written, `distance` away. `how`: 0 after a barrier of the block,
// 1 of the warp, 2 a shuffle, 3 a vote, 4 nothing; 5 after a barrier, but it is written once more behind that.
__global__ void __launch_bounds__(kBlock) swap_neighbours(int* out, int how, int distance) {
  __shared__ int held[kBlock];
  held[threadIdx.x] = static_cast<int>(threadIdx.x);
  if (how == 0 || how == 5) __syncthreads();
  if (how == 5) held[threadIdx.x] = static_cast<int>(threadIdx.x);
  if (how == 1) __syncwarp();
  if (how == 2) __shfl_xor_sync(kFull, 1, distance);
  if (how == 3) __any_sync(kFull, 1);
  out[threadIdx.x] = held[threadIdx.x ^ static_cast<unsigned>(distance)];
}

// One thread of every block uses one word. `how`: 0 adds atomically, 1 also reads it otherwise, 2 also writes it
// otherwise, 3 only writes it, 4 only reads it, 5 writes and reads it as a status word, 6 reads a status word otherwise,
// 7 only reads it but for the last block, which writes it, 8 the same with an atomic addition, 9 with a status word's
// read and an ordinary write; 10 only the last block does anything, it writes.
__global__ void __launch_bounds__(kBlock) use_word(unsigned long long* word, int how) {
  if (threadIdx.x != 0) return;
  if (how <= 2) atomicAdd(word, 1ull);
  unsigned long long seen = 0;
  if (how == 1 || how == 4) seen = *word;
  if (how == 2 || how == 3) *word = 1;
  if (how == 5 || how == 6) store_relaxed(word, 1);
  if (how == 5) seen = load_relaxed(word);
  if (how == 6) seen = *word;
  const bool is_last = blockIdx.x + 1 == gridDim.x;
  if ((how == 7 || how == 8) && !is_last) seen = *word;
  if (how == 9 && !is_last) seen = load_relaxed(word);
  if ((how == 7 || how == 9 || how == 10) && is_last) *word = 1;
  if (how == 8 && is_last) atomicAdd(word, 1ull);
  static_cast<void>(seen);
}

}  // namespace sparsync

using namespace sparsync;

extern "C" int call_gather(int* slots, unsigned* arrived, int* sums, int left_out, char* message) {
  return report(message, [&] { launch(gather, 3, kBlock, stream_t{}, slots, arrived, sums, left_out); });
}

extern "C" int call_swap_neighbours(int* out, int how, int distance, char* message) {
  return report(message, [&] { launch(swap_neighbours, 1, kBlock, stream_t{}, out, how, distance); });
}

// `grid` blocks at once, and then one more in each of the launches after it.
extern "C" int call_use_word(unsigned long long* word, int how, int grid, int launches, char* message) {
  return report(message, [&] {
    for (int count = 0; count < launches; ++count) launch(use_word, grid + count, kBlock, stream_t{}, word, how);
  });
}
