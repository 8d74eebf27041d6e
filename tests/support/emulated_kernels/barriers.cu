// Sums and scans of rows: each barrier is needed, and the tests take one away at a time.
#include "entry.h"

namespace sparsync {

// sums[row] = the sum of a row of blockDim.x entries; every block sums several rows.
__global__ void __launch_bounds__(256) sum_rows(const int* in, int* sums, int row_count) {
  __shared__ int partial[32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warp_count = blockDim.x / 32;
  for (int row = blockIdx.x; row < row_count; row += gridDim.x) {
    int value = in[row * blockDim.x + threadIdx.x];
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(kFull, value, distance);
    if (lane == 0) partial[warp] = value;
    __syncthreads();  // the partial sums are written
    if (warp == 0) {
      value = lane < warp_count ? partial[lane] : 0;
      for (int distance = 16; distance > 0; distance /= 2) value += __shfl_down_sync(kFull, value, distance);
      if (lane == 0) sums[row] = value;
    }
    __syncthreads();  // the partial sums are read
  }
}

// sums[row] = the inclusive sums of a row, without warp collectives.
__global__ void __launch_bounds__(256) scan_rows(const int* in, int* sums) {
  __shared__ int shared[256];
  const int entry = blockIdx.x * blockDim.x + threadIdx.x;
  shared[threadIdx.x] = in[entry];
  for (unsigned distance = 1; distance < blockDim.x; distance *= 2) {
    __syncthreads();  // the previous sums are written
    const int before = threadIdx.x >= distance ? shared[threadIdx.x - distance] : 0;
    __syncthreads();  // the previous sums are read
    shared[threadIdx.x] += before;
  }
  sums[entry] = shared[threadIdx.x];
}

}  // namespace sparsync

using namespace sparsync;

extern "C" int call_sum_rows(const int* in, int* sums, int row_count, char* message) {
  return report(message, [&] { launch(sum_rows, resident_block_count(), 256, stream_t{}, in, sums, row_count); });
}

extern "C" int call_scan_rows(const int* in, int* sums, int row_count, char* message) {
  return report(message, [&] { launch(scan_rows, row_count, 256, stream_t{}, in, sums); });
}
