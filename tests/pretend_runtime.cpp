// A pretend GPU: the part of the CUDA runtime's interface that PyTorch and our library use, without a driver or a device.
//
// Loaded before torch, its names come before those of the real runtime; what it lacks, that one refuses for want of a
// driver. Device memory is host memory, which the host cannot touch while it is in our library; that kernels stay away
// from other host memory is not checked. Launches run kernels that a library of emulated ones knows, and torch's kernel
// that passes time; every other kernel is refused. One stream can be captured into a graph, in the mode that is called
// global, and what the real runtime forbids meanwhile is refused: waits, questions, allocations, events from outside.
#include <cuda_runtime_api.h>
#include <sys/mman.h>

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
using pretend::Recording;
using pretend::Stream;

constexpr int kMultiprocessors = 2;
constexpr unsigned kBlockThreads = 1024;
constexpr size_t kMemoryBytes = size_t{8} << 30;
constexpr size_t kPageBytes = 4096;

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
  int user_count = 1;  // of device memory: the host, unless it is in our library, and what runs on streams
  std::vector<Stream*> streams{new Stream};  // the first is the default stream
  std::vector<Graph*> captures;              // under way
  uint64_t capture_count = 0;
  std::map<const void*, std::string> kernels;  // mangled names
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

size_t whole_pages(size_t bytes) { return (bytes / kPageBytes + 1) * kPageBytes; }

void use_device_memory(int change) {
  const std::lock_guard<std::mutex> lock(machine().mutex);
  const bool was_used = machine().user_count > 0;
  machine().user_count += change;
  if (was_used == (machine().user_count > 0)) return;
  for (const auto& [address, bytes] : machine().device_blocks) {
    mprotect(reinterpret_cast<void*>(address), whole_pages(bytes), was_used ? PROT_NONE : PROT_READ | PROT_WRITE);
  }
}

// What runs on a stream, a kernel or a copy.
void put_work(Stream& stream, pretend::Work work) {
  stream.put([work = std::move(work)] {
    use_device_memory(+1);
    try {
      work();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      machine().has_failed = true;
    }
    use_device_memory(-1);
  });
}

bool holds(const std::map<uintptr_t, size_t>& blocks, const void* pointer) {
  const std::lock_guard<std::mutex> lock(machine().mutex);
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  auto next = blocks.upper_bound(address);
  return next != blocks.begin() && address < std::prev(next)->first + std::prev(next)->second;
}
bool is_on_device(const void* pointer) { return holds(machine().device_blocks, pointer); }
bool is_pinned(const void* pointer) { return holds(machine().pinned_blocks, pointer); }

// Relaxed: the thread says that it knows what it does while streams are captured.
thread_local cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;

// Host calls that CUDA forbids while any stream is captured; they end the captures.
cudaError_t refuse_in_captures() {
  const std::lock_guard<std::mutex> lock(machine().mutex);
  for (Graph* graph : machine().captures) graph->is_broken = true;
  return machine().captures.empty() ? cudaSuccess : status(cudaErrorStreamCaptureUnsupported);
}

// Those that are forbidden unless the thread is relaxed.
cudaError_t refuse_unsafe() {
  return capture_mode == cudaStreamCaptureModeRelaxed ? cudaSuccess : refuse_in_captures();
}

template <class Wait>
cudaError_t host_waits(Wait wait) {
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

}  // namespace

extern "C" {

// --- memory -----------------------------------------------------------------------------------------------------------

// New memory is full of a value that no test expects.
cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  if (const cudaError_t error = refuse_unsafe()) return error;
  const std::lock_guard<std::mutex> lock(machine().mutex);
  if (bytes > kMemoryBytes - machine().used_bytes) return status(cudaErrorMemoryAllocation);
  *pointer = mmap(nullptr, whole_pages(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (*pointer == MAP_FAILED) return status(cudaErrorMemoryAllocation);
  std::memset(*pointer, 0xcd, bytes);
  if (machine().user_count == 0) mprotect(*pointer, whole_pages(bytes), PROT_NONE);
  machine().used_bytes += bytes;
  machine().device_blocks[reinterpret_cast<uintptr_t>(*pointer)] = bytes;
  return cudaSuccess;
}

cudaError_t cudaFree(void* pointer) {
  if (pointer == nullptr) return cudaSuccess;
  if (const cudaError_t error = refuse_unsafe()) return error;
  wait_for_all();
  const std::lock_guard<std::mutex> lock(machine().mutex);
  const auto found = machine().device_blocks.find(reinterpret_cast<uintptr_t>(pointer));
  if (found == machine().device_blocks.end()) return status(cudaErrorInvalidValue);
  munmap(pointer, whole_pages(found->second));
  machine().used_bytes -= found->second;
  machine().device_blocks.erase(found);
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned) {
  if (const cudaError_t error = refuse_unsafe()) return error;
  if (posix_memalign(pointer, kPageBytes, bytes + 1) != 0) return status(cudaErrorMemoryAllocation);
  std::memset(*pointer, 0xcd, bytes);
  const std::lock_guard<std::mutex> lock(machine().mutex);
  machine().pinned_blocks[reinterpret_cast<uintptr_t>(*pointer)] = bytes;
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* pointer) {
  if (const cudaError_t error = refuse_unsafe()) return error;
  wait_for_all();
  const std::lock_guard<std::mutex> lock(machine().mutex);
  if (machine().pinned_blocks.erase(reinterpret_cast<uintptr_t>(pointer)) == 0) return status(cudaErrorInvalidValue);
  std::free(pointer);
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
  put_work(of(stream), [=] { std::memcpy(target, reads_host ? kept.get() : source, bytes); });
  if (writes_host) of(stream).wait();
  return machine().has_failed ? status(cudaErrorLaunchFailure) : cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* target, int value, size_t bytes, cudaStream_t stream) {
  put_work(of(stream), [=] { std::memset(target, value, bytes); });
  return cudaSuccess;
}

// --- the device -------------------------------------------------------------------------------------------------------

cudaError_t cudaGetDeviceCount(int* count) { return *count = 1, cudaSuccess; }
cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
cudaError_t cudaDeviceSynchronize() { return host_waits(wait_for_all); }

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::strcpy(properties->name, "pretend GPU");
  properties->major = 9;
  properties->multiProcessorCount = kMultiprocessors;
  properties->warpSize = 32;
  properties->totalGlobalMem = kMemoryBytes;
  properties->maxThreadsPerBlock = kBlockThreads;
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

// --- streams and events -----------------------------------------------------------------------------------------------

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  if (flags != cudaStreamNonBlocking) return status(cudaErrorNotSupported);
  const std::lock_guard<std::mutex> lock(machine().mutex);
  machine().streams.push_back(new Stream(priority, static_cast<unsigned>(machine().streams.size())));
  *stream = reinterpret_cast<cudaStream_t>(machine().streams.back());
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  if (const cudaError_t error = of(stream).graph != nullptr ? refuse_in_captures() : refuse_unsafe()) return error;
  return of(stream).is_idle() ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return host_waits([=] { of(stream).wait(); });
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const std::shared_ptr<Recording> awaited = of(event).last;
  if (awaited == nullptr) return cudaSuccess;
  if (Graph* const graph = of(stream).graph) {
    if (graph->capture == awaited->capture) return cudaSuccess;
    graph->is_broken = true;
    return status(cudaErrorStreamCaptureIsolation);
  }
  if (awaited->capture != 0) {
    std::fprintf(stderr, "the pretend GPU captures one stream, and no other that waits for it\n");
    return status(cudaErrorNotSupported);
  }
  of(stream).put([=] { awaited->wait(); });
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return *event = reinterpret_cast<cudaEvent_t>(new Event), cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) { return delete &of(event), cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) { return of(event).record(of(stream)), cudaSuccess; }
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
  return cudaEventRecord(event, stream);
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  const std::shared_ptr<Recording> asked = of(event).last;
  if (asked != nullptr && asked->capture != 0) return status(cudaErrorCapturedEvent);
  if (const cudaError_t error = refuse_unsafe()) return error;
  return asked == nullptr || asked->is_done() ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const std::shared_ptr<Recording> awaited = of(event).last;
  if (awaited != nullptr && awaited->capture != 0) return status(cudaErrorCapturedEvent);
  return host_waits([=] {
    if (awaited != nullptr) awaited->wait();
  });
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  const std::shared_ptr<Recording> first = of(begin).last, second = of(end).last;
  if (first == nullptr || second == nullptr || first->capture != 0 || second->capture != 0) {
    return status(cudaErrorInvalidResourceHandle);
  }
  if (!first->is_done() || !second->is_done()) return cudaErrorNotReady;
  *milliseconds = std::chrono::duration<float, std::milli>(second->time - first->time).count();
  return cudaSuccess;
}

// --- graphs -----------------------------------------------------------------------------------------------------------

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return std::swap(*mode, capture_mode), cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  if (is_default(stream)) return status(cudaErrorStreamCaptureUnsupported);
  if (mode != cudaStreamCaptureModeGlobal) return status(cudaErrorNotSupported);
  if (of(stream).graph != nullptr) return status(cudaErrorIllegalState);
  const std::lock_guard<std::mutex> lock(machine().mutex);
  machine().captures.push_back(of(stream).graph = new Graph{++machine().capture_count});
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const std::lock_guard<std::mutex> lock(machine().mutex);
  if (of(stream).graph == nullptr) return status(cudaErrorIllegalState);
  of(*graph) = std::exchange(of(stream).graph, nullptr);
  std::erase(machine().captures, of(*graph));
  if (!of(*graph)->is_broken) return cudaSuccess;
  delete of(*graph);
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
  if (id != nullptr) *id = of(stream).graph != nullptr ? of(stream).graph->capture : 0;
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
  const std::lock_guard<std::mutex> lock(machine().mutex);
  machine().kernels[function] = name;
}
cudaError_t cudaFuncGetName(const char** name, const void* function) {
  const std::lock_guard<std::mutex> lock(machine().mutex);
  return *name = machine().kernels[function].c_str(), cudaSuccess;
}

// The emulation of a kernel by its mangled name and arguments, or an empty function.
using Emulation = pretend::Work (*)(const char* name, unsigned grid, unsigned block, void** arguments);
static Emulation emulation = nullptr;
void pretend_emulation(Emulation given) { emulation = given; }

// Work that is put on a stream, where it is captured as a kernel would be.
void pretend_put(cudaStream_t stream, void (*work)()) { put_work(of(stream), work); }
// Such work failed.
void pretend_fail() { machine().has_failed = true; }
// Fills device memory in the order of a stream, as a kernel would: captured, too, and without a wait.
void pretend_fill(void* target, const void* content, size_t bytes, cudaStream_t stream) {
  const std::string kept(static_cast<const char*>(content), bytes);
  put_work(of(stream), [=] { std::memcpy(target, kept.data(), bytes); });
}
// The host enters our library (1), where device memory is not there for it, or leaves it (0).
void pretend_enter(int enters) { use_device_memory(enters != 0 ? -1 : +1); }

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                             cudaStream_t stream) {
  if (grid.x == 0 || block.x == 0 || block.x > kBlockThreads) return status(cudaErrorInvalidConfiguration);
  const char* name = nullptr;
  cudaFuncGetName(&name, function);
  if (std::strstr(name, "spin_kernel") != nullptr) {  // of torch.cuda._sleep; as if at 1 GHz
    const std::chrono::nanoseconds time(*static_cast<int64_t*>(arguments[0]));
    return of(stream).put([=] { std::this_thread::sleep_for(time); }), cudaSuccess;
  }
  pretend::Work work;
  if (emulation != nullptr && grid.y == 1 && grid.z == 1 && block.y == 1 && block.z == 1 && shared_bytes == 0) {
    work = emulation(name, grid.x, block.x, arguments);
  }
  if (!work) {
    std::fprintf(stderr, "the pretend GPU has no kernel %s\n", name);
    return status(cudaErrorNotSupported);
  }
  put_work(of(stream), std::move(work));
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

int cuDevicePrimaryCtxGetState(int, unsigned* flags, int* is_active) {
  *flags = 0;
  *is_active = 1;
  return 0;
}
}  // extern "C"
