// Every warp collective and bit function once, for comparison with its definition.
#include "entry.h"

namespace sparsync {

// rows: four shuffles of in[thread] by `argument`.
template <class T>
__global__ void shuffle(const T* in, T* rows, int argument) {
  const int thread = blockIdx.x * blockDim.x + threadIdx.x;
  const int count = gridDim.x * blockDim.x;
  rows[thread] = __shfl_sync(kFull, in[thread], argument);
  rows[count + thread] = __shfl_xor_sync(kFull, in[thread], argument);
  rows[2 * count + thread] = __shfl_up_sync(kFull, in[thread], argument);
  rows[3 * count + thread] = __shfl_down_sync(kFull, in[thread], argument);
}

__global__ void vote(const int* in, unsigned* rows) {
  const int thread = blockIdx.x * blockDim.x + threadIdx.x;
  const int count = gridDim.x * blockDim.x;
  rows[thread] = __ballot_sync(kFull, in[thread]);
  rows[count + thread] = __any_sync(kFull, in[thread]);
  __syncwarp();
  rows[2 * count + thread] = __all_sync(kFull, in[thread]);
}

__global__ void bits(const unsigned* in, int* rows) {
  const int thread = threadIdx.x;
  const unsigned value = in[thread];
  rows[thread] = __popc(value);
  rows[32 + thread] = __ffs(static_cast<int>(value));
  rows[64 + thread] = __clz(static_cast<int>(value));
  rows[96 + thread] = __popcll(static_cast<unsigned long long>(value) << 20 | value);
  rows[128 + thread] = __float_as_uint(__uint_as_float(value)) == value;
}

// Every thread of every block works on the same words, whose results depend on no order.
__global__ void count(int* sums, unsigned* extremes, unsigned long long* wide) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&sums[0], 1);
  atomicAdd(&sums[1], -static_cast<int>(thread % 8));
  atomicMin(&sums[2], -static_cast<int>(thread));
  atomicMax(&sums[3], static_cast<int>(thread));
  atomicMin(&extremes[0], 0x80000000u + thread);
  atomicMax(&extremes[1], 0x80000000u + thread);
  atomicOr(&extremes[2], 1u << thread % 32);
  atomicAdd(wide, 1ull << 32);
}

}  // namespace sparsync

using namespace sparsync;

#define SHUFFLE_ENTRY(name, type)                                                                          \
  extern "C" int name(const type* in, type* rows, int grid, int block, int argument, char* message) {      \
    return report(message, [&] { launch(shuffle<type>, grid, block, stream_t{}, in, rows, argument); });   \
  }
SHUFFLE_ENTRY(shuffle_int32, int)
SHUFFLE_ENTRY(shuffle_uint32, unsigned)
SHUFFLE_ENTRY(shuffle_int64, long long)
SHUFFLE_ENTRY(shuffle_uint64, unsigned long long)
SHUFFLE_ENTRY(shuffle_float32, float)
SHUFFLE_ENTRY(shuffle_float64, double)

extern "C" int vote_all(const int* in, unsigned* rows, int grid, int block, char* message) {
  return report(message, [&] { launch(vote, grid, block, stream_t{}, in, rows); });
}

extern "C" int bit_functions(const unsigned* in, int* rows, char* message) {
  return report(message, [&] { launch(bits, 1, 32, stream_t{}, in, rows); });
}

extern "C" int count_all(int* sums, unsigned* extremes, unsigned long long* wide, int grid, int block, char* message) {
  return report(message, [&] { launch(count, grid, block, stream_t{}, sums, extremes, wide); });
}
