// A pretend GPU: the part of the CUDA runtime's interface that PyTorch and our library use, without a driver or a device.
//
// Loaded before torch, its names come before those of the real runtime. Device memory is host memory that only work on
// a stream, or a copy, should touch. Launches run kernels that a library of emulated ones knows, and torch's kernel that
// passes time; every other kernel is refused. What the real runtime forbids while a stream is captured is refused, too.
#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <string>

#include "pretend_streams.h"

namespace {

using pretend::Event;
using pretend::Graph;
using pretend::Stream;

constexpr int kMultiprocessors = 2;
constexpr size_t kMemoryBytes = size_t{8} << 30;
constexpr size_t kAlignment = 4096;

thread_local cudaError_t last_error = cudaSuccess;
cudaError_t status(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

// Everything that lives until the process ends: threads of streams may outlive static objects.
struct Machine {
  std::mutex mutex;
  std::map<uintptr_t, size_t> device_blocks, pinned_blocks;
  size_t used_bytes = 0;
  std::vector<Stream*> streams{new Stream};  // the first is the default stream
  std::vector<Graph*> captures;              // under way
  unsigned long long capture_count = 0;
  std::map<const void*, std::string> kernels;  // mangled names
  std::atomic<long> wait_count{0};             // how often the host waited
  std::atomic<bool> has_failed{false};         // a kernel: from then on, whoever waits is told
};
Machine& machine() {
  static Machine* const one = new Machine;
  return *one;
}

bool is_default(cudaStream_t stream) {
  return stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
}
Stream& of(cudaStream_t stream) {
  return is_default(stream) ? *machine().streams[0] : *reinterpret_cast<Stream*>(stream);
}
Event& of(cudaEvent_t event) { return *reinterpret_cast<Event*>(event); }
Graph*& of(cudaGraph_t& graph) { return reinterpret_cast<Graph*&>(graph); }

bool holds(const std::map<uintptr_t, size_t>& blocks, const void* pointer) {
  const std::lock_guard<std::mutex> lock(machine().mutex);
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  auto next = blocks.upper_bound(address);
  return next != blocks.begin() && address < std::prev(next)->first + std::prev(next)->second;
}
bool is_on_device(const void* pointer) { return holds(machine().device_blocks, pointer); }
bool is_pinned(const void* pointer) { return holds(machine().pinned_blocks, pointer); }

// Host calls that CUDA forbids while any stream is captured; they end the captures.
cudaError_t refuse_in_captures() {
  const std::lock_guard<std::mutex> lock(machine().mutex);
  for (Graph* graph : machine().captures) graph->is_broken = true;
  return machine().captures.empty() ? cudaSuccess : status(cudaErrorStreamCaptureUnsupported);
}

template <class Wait>
cudaError_t host_waits(Wait wait) {
  ++machine().wait_count;
  if (const cudaError_t error = refuse_in_captures()) return error;
  wait();
  return machine().has_failed ? status(cudaErrorLaunchFailure) : cudaSuccess;
}

void wait_for_all() {
  std::vector<Stream*> streams;
  {
    const std::lock_guard<std::mutex> lock(machine().mutex);
    streams = machine().streams;
  }
  for (Stream* stream : streams) stream->wait();
}

cudaError_t allocate(void** pointer, size_t bytes, std::map<uintptr_t, size_t>& blocks) {
  if (posix_memalign(pointer, kAlignment, bytes + 1) != 0) return status(cudaErrorMemoryAllocation);
  std::memset(*pointer, 0xcd, bytes);
  const std::lock_guard<std::mutex> lock(machine().mutex);
  blocks[reinterpret_cast<uintptr_t>(*pointer)] = bytes;
  return cudaSuccess;
}

// Relaxed: the thread says that it knows what it does while streams are captured.
thread_local cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;

}  // namespace

extern "C" {

// --- memory -----------------------------------------------------------------------------------------------------------

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  if (capture_mode != cudaStreamCaptureModeRelaxed) {
    if (const cudaError_t error = refuse_in_captures()) return error;
  }
  if (machine().used_bytes + bytes > kMemoryBytes) return status(cudaErrorMemoryAllocation);
  machine().used_bytes += bytes;
  return allocate(pointer, bytes, machine().device_blocks);
}

cudaError_t cudaFree(void* pointer) {
  if (pointer == nullptr) return cudaSuccess;
  wait_for_all();
  const std::lock_guard<std::mutex> lock(machine().mutex);
  const auto found = machine().device_blocks.find(reinterpret_cast<uintptr_t>(pointer));
  if (found == machine().device_blocks.end()) return status(cudaErrorInvalidValue);
  machine().used_bytes -= found->second;
  machine().device_blocks.erase(found);
  std::free(pointer);
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned) {
  return allocate(pointer, bytes, machine().pinned_blocks);
}

cudaError_t cudaFreeHost(void* pointer) {
  wait_for_all();
  const std::lock_guard<std::mutex> lock(machine().mutex);
  if (machine().pinned_blocks.erase(reinterpret_cast<uintptr_t>(pointer)) == 0) return status(cudaErrorInvalidValue);
  std::free(pointer);
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  *total_bytes = kMemoryBytes;
  *free_bytes = kMemoryBytes - machine().used_bytes;
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  *attributes = {};
  attributes->type = is_on_device(pointer) ? cudaMemoryTypeDevice
                     : is_pinned(pointer)  ? cudaMemoryTypeHost
                                           : cudaMemoryTypeUnregistered;
  if (attributes->type != cudaMemoryTypeUnregistered) attributes->devicePointer = const_cast<void*>(pointer);
  if (attributes->type == cudaMemoryTypeHost) attributes->hostPointer = const_cast<void*>(pointer);
  return cudaSuccess;
}

// Host memory that is not pinned is read before the call returns, and written before it returns, which no capture may do.
cudaError_t cudaMemcpyAsync(void* target, const void* source, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  const bool reads_host = !is_on_device(source) && !is_pinned(source);
  const bool writes_host = !is_on_device(target) && !is_pinned(target);
  if (of(stream).graph != nullptr && (reads_host || writes_host)) return refuse_in_captures();
  std::shared_ptr<char[]> kept;
  if (reads_host) {
    kept.reset(new char[bytes + 1]);
    std::memcpy(kept.get(), source, bytes);
  }
  of(stream).put([=] { std::memcpy(target, reads_host ? kept.get() : source, bytes); });
  if (writes_host) of(stream).wait();
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* target, const void* source, size_t bytes, cudaMemcpyKind) {
  return host_waits([=] {
    wait_for_all();
    std::memcpy(target, source, bytes);
  });
}

cudaError_t cudaMemsetAsync(void* target, int value, size_t bytes, cudaStream_t stream) {
  of(stream).put([=] { std::memset(target, value, bytes); });
  return cudaSuccess;
}

// --- the device -------------------------------------------------------------------------------------------------------

cudaError_t cudaGetDeviceCount(int* count) { return *count = 1, cudaSuccess; }
cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : status(cudaErrorInvalidDevice); }
cudaError_t cudaDriverGetVersion(int* version) { return *version = CUDART_VERSION, cudaSuccess; }
cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return last_error; }
cudaError_t cudaDeviceSynchronize() { return host_waits(wait_for_all); }
cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) { return *can = 0, cudaSuccess; }

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::strcpy(properties->name, "pretend GPU");
  properties->major = 9;
  properties->multiProcessorCount = kMultiprocessors;
  properties->warpSize = 32;
  properties->totalGlobalMem = kMemoryBytes;
  properties->maxThreadsPerBlock = 1024;
  properties->maxThreadsPerMultiProcessor = 2048;
  properties->sharedMemPerBlock = 48 << 10;
  properties->regsPerBlock = properties->regsPerMultiprocessor = 65536;
  properties->unifiedAddressing = 1;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrMultiProcessorCount ? kMultiprocessors : 0;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

// Nothing of the driver's interface is there.
cudaError_t cudaGetDriverEntryPointByVersion(const char*, void** function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  *function = nullptr;
  if (result != nullptr) *result = cudaDriverEntryPointSymbolNotFound;
  return status(cudaErrorNotSupported);
}

// --- streams and events -----------------------------------------------------------------------------------------------

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  if (flags != cudaStreamNonBlocking) return status(cudaErrorNotSupported);
  const std::lock_guard<std::mutex> lock(machine().mutex);
  machine().streams.push_back(new Stream(priority, static_cast<unsigned>(machine().streams.size())));
  *stream = reinterpret_cast<cudaStream_t>(machine().streams.back());
  return cudaSuccess;
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return *priority = of(stream).priority, cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t stream) { return of(stream).is_idle() ? cudaSuccess : cudaErrorNotReady; }
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return host_waits([=] { of(stream).wait(); });
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return of(event).hold(of(stream)), cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return *event = reinterpret_cast<cudaEvent_t>(new Event), cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }  // streams may still reach it
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) { return of(event).record(of(stream)), cudaSuccess; }
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
  return cudaEventRecord(event, stream);
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  return of(event).reached.has(of(event).recorded) ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return host_waits([=] { of(event).reached.wait(of(event).recorded); });
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  *milliseconds = std::chrono::duration<float, std::milli>(of(end).time - of(begin).time).count();
  return cudaSuccess;
}

// --- graphs -----------------------------------------------------------------------------------------------------------

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return std::swap(*mode, capture_mode), cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  if (is_default(stream)) return status(cudaErrorStreamCaptureUnsupported);
  const std::lock_guard<std::mutex> lock(machine().mutex);
  machine().captures.push_back(of(stream).graph = new Graph);
  ++machine().capture_count;
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const std::lock_guard<std::mutex> lock(machine().mutex);
  of(*graph) = std::exchange(of(stream).graph, nullptr);
  std::erase(machine().captures, of(*graph));
  if (!of(*graph)->is_broken) return cudaSuccess;
  *graph = nullptr;
  return status(cudaErrorStreamCaptureInvalidated);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* found) {
  *found = of(stream).graph != nullptr ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* found, unsigned long long* id,
                                     cudaGraph_t* graph, const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData** edges, size_t* dependency_count) {
  if (id != nullptr) *id = machine().capture_count;
  if (graph != nullptr) of(*graph) = of(stream).graph;
  if (dependencies != nullptr) *dependencies = nullptr;
  if (edges != nullptr) *edges = nullptr;
  if (dependency_count != nullptr) *dependency_count = 0;
  return cudaStreamIsCapturing(stream, found);
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t*, size_t* count) {
  return *count = of(graph)->nodes.size(), cudaSuccess;
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long) {
  return *made = reinterpret_cast<cudaGraphExec_t>(new Graph(*of(graph))), cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  of(stream).put([copy = *reinterpret_cast<Graph*>(graph)] { copy.run(); });
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return delete of(graph), cudaSuccess; }
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) { return delete reinterpret_cast<Graph*>(graph), cudaSuccess; }

// --- kernels ----------------------------------------------------------------------------------------------------------

// What nvcc's code calls as a library is loaded.
void** __cudaRegisterFatBinary(void*) {
  static void* handle;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}
void __cudaRegisterFunction(void**, const char* function, char*, const char* name, int, uint3*, uint3*, dim3*, dim3*,
                            int*) {
  machine().kernels[function] = name;
}
cudaError_t cudaFuncGetName(const char** name, const void* function) {
  return *name = machine().kernels[function].c_str(), cudaSuccess;
}

// The emulation of a kernel by its mangled name and arguments, or an empty function.
using Emulation = pretend::Work (*)(const char* name, unsigned grid, unsigned block, void** arguments);
static Emulation emulation = nullptr;
void pretend_emulation(Emulation given) { emulation = given; }

// Work that a test puts on a stream, where it is captured as a kernel would be.
void pretend_put(cudaStream_t stream, void (*work)()) { of(stream).put(work); }
// How often the host waited for the device so far, through whichever call.
long pretend_wait_count() { return machine().wait_count; }

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                             cudaStream_t stream) {
  const std::string& name = machine().kernels[function];
  pretend::Work work;
  if (name.find("spin_kernel") != std::string::npos) {  // of torch.cuda._sleep; as if at 1 GHz
    work = [cycles = *static_cast<int64_t*>(arguments[0])] {
      std::this_thread::sleep_for(std::chrono::nanoseconds(cycles));
    };
  } else if (emulation != nullptr && grid.y == 1 && grid.z == 1 && block.y == 1 && block.z == 1 && shared_bytes == 0) {
    work = emulation(name.c_str(), grid.x, block.x, arguments);
  }
  if (!work) {
    std::fprintf(stderr, "the pretend GPU has no kernel %s\n", name.c_str());
    return status(cudaErrorNotSupported);
  }
  of(stream).put([work = std::move(work)] {
    try {
      work();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      machine().has_failed = true;
    }
  });
  return cudaSuccess;
}

// What the launches that nvcc writes for <<<...>>> are made of.
struct Configuration {
  dim3 grid, block;
  size_t shared_bytes;
  cudaStream_t stream;
};
static thread_local Configuration pushed;
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, CUstream_st* stream) {
  pushed = {grid, block, shared_bytes, stream};
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes, void* stream) {
  *grid = pushed.grid;
  *block = pushed.block;
  *shared_bytes = pushed.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = pushed.stream;
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  return *kernel = static_cast<cudaKernel_t>(const_cast<void*>(function)), cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                               cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream);
}

// --- the driver, of which torch looks for some functions in libcuda.so.1 ------------------------------------------------

static int unsupported() { return 801; }  // CUDA_ERROR_NOT_SUPPORTED
int cuGetProcAddress_v2(const char*, void** function, int, unsigned long long, int* found) {
  *function = reinterpret_cast<void*>(&unsupported);
  if (found != nullptr) *found = 0;
  return 0;
}
int cuDevicePrimaryCtxGetState(int, unsigned* flags, int* is_active) {
  *flags = 0;
  *is_active = 1;
  return 0;
}
int cuCtxGetCurrent(void** context) {
  *context = &machine();
  return 0;
}

}  // extern "C"
