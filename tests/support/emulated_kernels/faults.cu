// Kernels with one fault each, and a kernel that is right until the tests take its bounds check away.
#include "entry.h"

namespace sparsync {

__global__ void skipped_barrier(int* out) {
  if (threadIdx.x < 40) __syncthreads();
  out[threadIdx.x] = 1;
}

__global__ void early_return(int* out) {
  if (threadIdx.x == 7) return;
  __syncthreads();
  out[threadIdx.x] = 1;
}

__global__ void two_barriers(int* out) {
  if (threadIdx.x % 2 == 0) {
    __syncthreads();
  } else {
    out[threadIdx.x] = 1;
    __syncthreads();
  }
}

__global__ void barrier_against_vote(int* out) {
  if (threadIdx.x % 32 < 16) {
    __syncthreads();
  } else {
    out[threadIdx.x] = __any_sync(kFull, 1);
  }
}

__global__ void two_shuffles(int* out) {
  if (threadIdx.x < 16) {
    out[threadIdx.x] = __shfl_sync(kFull, 1, 0);
  } else {
    out[threadIdx.x] = __shfl_sync(kFull, 2, 0);
  }
}

__global__ void shuffle_against_vote(int* out) {
  out[threadIdx.x] = threadIdx.x < 16 ? __shfl_sync(kFull, 1, 0) : __any_sync(kFull, 1);
}

__global__ void exited_lane(int* out) {
  if (threadIdx.x == 33) return;
  out[threadIdx.x] = __shfl_sync(kFull, 1, 0);
}

__global__ void partial_mask(int* out) { out[threadIdx.x] = __shfl_sync(0xffffu, 1, 0); }

__global__ void small_warp(int* out) {
  out[threadIdx.x] = __shfl_sync(kFull, 1, 0);
}

#if defined(SPARSYNC_EMULATE)
__global__ void thrown(int*) {
  __syncthreads();
  if (threadIdx.x == 5) throw std::logic_error("thrown by a thread");
  __syncthreads();
}
#endif

__global__ void copy_guarded(const int* in, int* out, int length) {
  const int entry = blockIdx.x * blockDim.x + threadIdx.x;
  if (entry < length) out[entry] = in[entry];
}

__global__ void add_integers(const int* in, int* out) { out[threadIdx.x] = in[threadIdx.x] + 1; }

__global__ void read_shared(int* out, int index) {
  __shared__ int entries[32];
  entries[threadIdx.x] = static_cast<int>(threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = entries[index];
}

__global__ void read_vector(const float* in, float* out) { out[threadIdx.x] = reinterpret_cast<const float4*>(in)->y; }

// Right unless a thread leaves before the barrier.
template <int kSize>
__global__ void use_locals(int* out, int leaving) {
  int values[kSize];
  for (int index = 0; index < kSize; ++index) values[index] = index * out[index % 64];
  if (static_cast<int>(threadIdx.x) == leaving) return;
  __syncthreads();
  out[threadIdx.x] = values[threadIdx.x % kSize];
}

}  // namespace sparsync

using namespace sparsync;

#define FAULT_ENTRY(name)                                                               \
  extern "C" int call_##name(int* out, int grid, int block, char* message) {            \
    return report(message, [&] { launch(name, grid, block, stream_t{}, out); });        \
  }
FAULT_ENTRY(skipped_barrier)
FAULT_ENTRY(early_return)
FAULT_ENTRY(two_barriers)
FAULT_ENTRY(barrier_against_vote)
FAULT_ENTRY(two_shuffles)
FAULT_ENTRY(shuffle_against_vote)
FAULT_ENTRY(exited_lane)
FAULT_ENTRY(partial_mask)
FAULT_ENTRY(small_warp)
#if defined(SPARSYNC_EMULATE)
FAULT_ENTRY(thrown)
#endif
