// One dialect, two machines: the names that a kernel may use beyond the CUDA language, for nvcc and for g++.
//
// nvcc compiles a `.cu` file against the CUDA runtime. With -DSPARSYNC_EMULATE, g++ compiles the same text
// against the tests' emulation/cuda_emulation.h, and blocks and threads run on the host:
//   g++ -x c++ -std=c++20 -O2 -DSPARSYNC_EMULATE -fno-gnu-unique -fno-strict-aliasing -ffp-contract=off
//       -shared -fPIC -pthread -I kernels/csrc -I tests/support
#pragma once

#include <cxxabi.h>

#include <cstdint>
#include <cstdlib>
#include <source_location>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

namespace sparsync {

// The readable form of a mangled name, for messages.
inline std::string demangled(const char* name) {
  int status = 0;
  char* readable = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  const std::string result = status == 0 ? readable : name;
  free(readable);
  return result;
}

// A number of blocks, and the place in the source that launches them.
struct GridSize {
  int64_t count;
  std::source_location site;
  GridSize(int64_t blocks, std::source_location here = std::source_location::current()) : count(blocks), site(here) {}
  std::string place() const {
    return std::string("launched at ") + site.file_name() + ":" + std::to_string(site.line());
  }
};

}  // namespace sparsync

#if defined(SPARSYNC_EMULATE)

#include "emulation/cuda_emulation.h"

#else

#include <cuda_runtime.h>

namespace sparsync {

using stream_t = cudaStream_t;

inline void check_cuda(cudaError_t status, const std::string& action) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // the error is reported here, not once more by whoever asks next
  throw std::runtime_error(action + ": " + cudaGetErrorString(status));
}

inline std::string kernel_name(const void* kernel) {
  const char* name = nullptr;
#if CUDART_VERSION >= 12030
  if (cudaFuncGetName(&name, kernel) != cudaSuccess) name = nullptr;
#else
  static_cast<void>(kernel);
#endif
  return name == nullptr ? "a kernel" : demangled(name);
}

// Starts `kernel` on `grid` blocks of `block` threads and does not wait for it.
//   Throws std::runtime_error, naming the kernel, if it cannot be started.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), GridSize grid, int block, stream_t stream, Arguments&&... arguments) {
  std::tuple<Parameters...> values(std::forward<Arguments>(arguments)...);
  const void* function = reinterpret_cast<const void*>(kernel);
  const cudaError_t status = std::apply(
      [&](auto&... value) {
        void* pointers[] = {static_cast<void*>(&value)..., nullptr};
        return cudaLaunchKernel(function, dim3(static_cast<unsigned>(grid.count)), dim3(static_cast<unsigned>(block)),
                                pointers, 0, stream);
      },
      values);
  if (status != cudaSuccess) check_cuda(status, kernel_name(function) + ", " + grid.place());
}

// Whether launches on the stream are recorded for a graph.
inline bool is_recorded(stream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check_cuda(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing");
  return status != cudaStreamCaptureStatusNone;
}

// How many blocks a grid that loops over its work should have: four for each multiprocessor.
inline int resident_block_count() {
  int device = 0, multiprocessors = 0;
  check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  check_cuda(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
             "cudaDeviceGetAttribute");
  return 4 * multiprocessors;
}

// A word that another block writes or reads, in no order with other memory.
__device__ inline unsigned long long load_relaxed(const unsigned long long* word) {
  unsigned long long value;
  asm volatile("ld.relaxed.gpu.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}

__device__ inline void store_relaxed(unsigned long long* word, unsigned long long value) {
  asm volatile("st.relaxed.gpu.u64 [%0], %1;" : : "l"(word), "l"(value) : "memory");
}

// Between two polls of a loop that waits for another block.
__device__ inline void pause() { __nanosleep(20); }

// A read of data that is not needed again soon.
template <class T>
__device__ inline T load_streaming(const T* source) {
  return __ldcs(source);
}

// Brings memory that is read soon to the cache; place and size are multiples of 16 bytes.
__device__ inline void fetch([[maybe_unused]] const void* source, [[maybe_unused]] uint32_t bytes) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" : : "l"(__cvta_generic_to_global(source)), "r"(bytes));
#endif
}

}  // namespace sparsync

#endif
