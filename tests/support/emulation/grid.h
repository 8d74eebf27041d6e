// A launch: operating-system threads take the blocks of a grid in an order drawn from the seed, several at a time.
//
// The controls at the end are exported, so that tests set them through ctypes.
#pragma once

#include <link.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "scheduler.h"

namespace sparsync::emulation {

inline std::atomic<uint64_t> seed_setting{1};
inline std::atomic<int> threads_setting{3};
inline std::atomic<int> blocks_setting{8};
inline std::atomic<double> timeout_setting{20.0};

// Stacks that no launch uses at the moment.
class StackPool {
 public:
  std::unique_ptr<Stacks> take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (free_.empty()) return std::make_unique<Stacks>();
    std::unique_ptr<Stacks> stacks = std::move(free_.back());
    free_.pop_back();
    return stacks;
  }
  void give_back(std::unique_ptr<Stacks> stacks) {
    const std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(std::move(stacks));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Stacks>> free_;
};
inline StackPool stack_pool;

// This operating-system thread's copy of the library's thread-local variables that start as zero. Those are the
// __shared__ variables: CUDA forbids initialisers for them, and the emulation gives its own variables one.
struct SharedMemory {
  const void* address_in_library;
  char* begin = nullptr;
  size_t size = 0;

  explicit SharedMemory(const void* address) : address_in_library(address) {
    static_cast<void>(threadIdx.x);  // allocates the copy
    dl_iterate_phdr([](dl_phdr_info* library, size_t, void* found) {
      return static_cast<SharedMemory*>(found)->find(*library);
    }, this);
  }

  void poison() const { memset(begin, 0xcd, size); }

 private:
  int find(const dl_phdr_info& library) {
    const uintptr_t address = reinterpret_cast<uintptr_t>(address_in_library) - library.dlpi_addr;
    bool inside = false;
    const ElfW(Phdr)* thread_local_part = nullptr;
    for (int part = 0; part < library.dlpi_phnum; ++part) {
      const ElfW(Phdr)& header = library.dlpi_phdr[part];
      inside |= header.p_type == PT_LOAD && address - header.p_vaddr < header.p_memsz;
      if (header.p_type == PT_TLS) thread_local_part = &header;
    }
    if (!inside) return 0;
    if (thread_local_part != nullptr && library.dlpi_tls_data != nullptr) {
      begin = static_cast<char*>(library.dlpi_tls_data) + thread_local_part->p_filesz;
      size = thread_local_part->p_memsz - thread_local_part->p_filesz;
    }
    return 1;
  }
};

// The blocks that are still to run, and the first failure.
class Grid {
 public:
  Grid(Launch& launch, const void* kernel) : launch_(launch), kernel_(kernel), order_(launch.grid) {
    std::iota(order_.begin(), order_.end(), 0u);
    Random random(launch.seed);
    for (unsigned count = launch.grid; count > 1; --count) std::swap(order_[count - 1], order_[random.below(count)]);
  }

  // Runs blocks until none is left or one has failed.
  void work(Launch::Counter& counter) {
    try {
      std::unique_ptr<Stacks> stacks = stack_pool.take();
      run_blocks(counter, *stacks);
      stack_pool.give_back(std::move(stacks));
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!error_) error_ = std::current_exception();
      launch_.failed = true;
    }
  }

  void rethrow_failure() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void run_blocks(Launch::Counter& counter, Stacks& stacks) {
    blockDim.x = launch_.block;
    gridDim.x = launch_.grid;
    const SharedMemory shared(kernel_);
    Block block(launch_, counter, stacks);
    for (unsigned taken = next_++; taken < launch_.grid && !launch_.failed; taken = next_++) {
      shared.poison();
      sparsync_observe_block(shared.begin, shared.size);
      block.run(order_[taken]);
    }
  }

  Launch& launch_;
  const void* kernel_;
  std::vector<unsigned> order_;
  std::atomic<unsigned> next_{0};
  std::mutex mutex_;
  std::exception_ptr error_;
};

// What a GPU would not launch.
inline void check_size(const std::string& name, int64_t grid, int block) {
  if (grid < 1 || grid > INT32_MAX || block < 1 || block > static_cast<int>(kMaximalBlock)) {
    throw std::runtime_error("kernel " + name + ": " + std::to_string(grid) + " blocks of " +
                             std::to_string(block) + " threads");
  }
}

// Runs `body` as every thread of every block, and returns when all have ended.
inline void run_grid(const std::string& name, const void* kernel, int64_t grid, int block, std::function<void()> body) {
  const int64_t threads = std::clamp<int64_t>(threads_setting, 1, grid);
  Launch launch{name, static_cast<unsigned>(grid), static_cast<unsigned>(block), std::move(body), seed_setting,
                timeout_setting, std::vector<Launch::Counter>(static_cast<size_t>(threads))};
  Grid work(launch, kernel);
  sparsync_observe_launch(launch.grid, launch.block);
  {
    std::vector<std::jthread> others;
    for (int64_t index = 1; index < threads; ++index) {
      others.emplace_back([&work, &launch, index] { work.work(launch.counters[static_cast<size_t>(index)]); });
    }
    work.work(launch.counters[0]);
  }
  work.rethrow_failure();
}

}  // namespace sparsync::emulation

#define SPARSYNC_CONTROL extern "C" __attribute__((used, visibility("default"))) inline void

// Which orders of threads and blocks are tried.
SPARSYNC_CONTROL sparsync_emulation_seed(uint64_t seed) { sparsync::emulation::seed_setting = seed; }
// How many blocks run at the same time, each on an operating-system thread.
SPARSYNC_CONTROL sparsync_emulation_threads(int count) { sparsync::emulation::threads_setting = count; }
// What resident_block_count() returns.
SPARSYNC_CONTROL sparsync_emulation_blocks(int count) { sparsync::emulation::blocks_setting = count; }
// How long blocks may wait for each other before that counts as a deadlock.
SPARSYNC_CONTROL sparsync_emulation_timeout_seconds(double seconds) {
  sparsync::emulation::timeout_setting = seconds;
}

#undef SPARSYNC_CONTROL
