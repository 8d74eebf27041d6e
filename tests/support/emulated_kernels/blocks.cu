// A tiled addition, and what a block starts with: shared memory without values, arguments of its own.
#include "entry.h"

namespace sparsync {

__global__ void __launch_bounds__(256) add_tiles(float* target, const float* other, int64_t length) {
  for (int64_t tile = blockIdx.x; tile * 4096 < length; tile += gridDim.x) {
    const int64_t end = min(length, (tile + 1) * 4096);
    for (int64_t entry = tile * 4096 + threadIdx.x; entry < end; entry += blockDim.x) target[entry] += other[entry];
    __syncthreads();
  }
}

// What a block finds in shared memory that no thread has written, and leaves something else there.
__global__ void read_unwritten(unsigned* found) {
  __shared__ unsigned words[64];
  found[blockIdx.x * blockDim.x + threadIdx.x] = words[threadIdx.x];
  words[threadIdx.x] = threadIdx.x;
}

// The same in a device function template.
template <class T>
__device__ T unwritten_entry(int thread) {
  __shared__ T entries[64];
  const T found = entries[thread];
  entries[thread] = 0;
  return found;
}

__global__ void read_unwritten_entries(unsigned* found) {
  found[blockIdx.x * blockDim.x + threadIdx.x] = unwritten_entry<unsigned>(threadIdx.x);
}

struct Table {
  int entries[500];
};

// Kernel arguments are copies: what one thread writes to its own, no other sees.
__global__ void sum_table(Table table, int* sums) {
  int sum = 0;
  for (int entry = 0; entry < 500; ++entry) sum += table.entries[entry];
  for (int entry = 0; entry < 500; ++entry) table.entries[entry] = 0;
  sums[threadIdx.x] = sum;
}

}  // namespace sparsync

using namespace sparsync;

extern "C" int add(float* target, const float* other, int64_t length, char* message) {
  return report(message, [&] { launch(add_tiles, resident_block_count(), 256, stream_t{}, target, other, length); });
}

extern "C" int unwritten(unsigned* found, int in_template, char* message) {
  const auto kernel = in_template ? read_unwritten_entries : read_unwritten;
  return report(message, [&] { launch(kernel, 10, 64, stream_t{}, found); });
}

extern "C" int table_sum(int* sums, char* message) {
  Table table;
  for (int entry = 0; entry < 500; ++entry) table.entries[entry] = entry;
  return report(message, [&] { launch(sum_table, 1, 64, stream_t{}, table, sums); });
}
