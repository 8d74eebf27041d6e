// One block: its threads are fibres, run one at a time by one operating-system thread in an order drawn from a seed.
//
// A fibre runs until it waits: for the block at a barrier, for its warp at a collective, or for other blocks in
// `pause`. Barriers and collectives count arrivals and complete when the last member arrives. Whatever a GPU would
// answer with undefined behaviour or a hang is reported as an exception: a rendezvous that members leave out or
// meet at different places of the source, and waiting that nothing can end.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <source_location>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fibres.h"
#include "observer.h"

// CUDA's built-in variables; one dimension. Never zero at first: grid.h overwrites what starts as zero.
struct SparsyncExtent {
  unsigned x = ~0u;
};
inline thread_local constinit SparsyncExtent threadIdx, blockIdx, blockDim, gridDim;

namespace sparsync::emulation {

using Site = std::source_location;
using Clock = std::chrono::steady_clock;

inline constexpr unsigned kWarpSize = 32;

inline std::string text(const Site& site) { return std::string(site.file_name()) + ":" + std::to_string(site.line()); }

// xorshift64*, enough for permutations.
class Random {
 public:
  explicit Random(uint64_t seed) : state_((seed + 1) * 0x9e3779b97f4a7c15u | 1u) {
    for (int round = 0; round < 4; ++round) below(2);
  }
  unsigned below(unsigned bound) {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<unsigned>((state_ * 0x2545f4914f6cdd1du >> 32) * bound >> 32);
  }

 private:
  uint64_t state_;
};

// What the blocks of one launch share. An event is anything that another block could be waiting for.
struct Launch {
  struct alignas(64) Counter {
    std::atomic<uint64_t> events{0};
  };
  std::string kernel_name;
  unsigned grid;
  unsigned block;
  std::function<void()> body;
  uint64_t seed;
  double timeout_seconds;
  std::vector<Counter> counters;  // one for each operating-system thread
  std::atomic<bool> failed{false};

  uint64_t events() const {
    uint64_t sum = 0;
    for (const Counter& counter : counters) sum += counter.events.load(std::memory_order_relaxed);
    return sum;
  }
};

// Members that wait for each other: all threads of a block, or the lanes of a warp.
struct Rendezvous {
  unsigned first;
  unsigned count;
  unsigned arrived = 0;
  unsigned exited = 0;
  const char* name = "";
  Site site{};
};

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Block {
 public:
  Block(Launch& launch, Launch::Counter& counter, Stacks& stacks)
      : launch_(launch), counter_(counter), stacks_(stacks), random_(0), fibres_(launch.block) {}

  // Runs block `index` to its end, or until another block has failed. Throws what its threads throw.
  void run(unsigned index);

  void barrier(const Site& site) { meet(barrier_, "__syncthreads", site, true); }

  // Deposits `bits` and returns what all lanes of the warp deposited, once all have.
  const uint64_t* exchange(const char* name, uint64_t bits, const Site& site, bool orders_memory) {
    Warp& warp = warps_[threadIdx.x / kWarpSize];
    // A lane is at most one collective ahead of another one, so two sets of slots are enough.
    unsigned& parity = fibres_[threadIdx.x].parity;
    parity ^= 1;
    uint64_t* slots = warp.slots[parity];
    slots[threadIdx.x % kWarpSize] = bits;
    if (warp.lanes.count != kWarpSize) fail(std::string(name) + " in a warp of " + std::to_string(warp.lanes.count));
    meet(warp.lanes, name, site, orders_memory);
    return slots;
  }

  // Lets every other fibre and operating-system thread run first.
  void pause(const Site& site) {
    polled_ = true;
    note_wait("pause", site);
    paused_.push_back(threadIdx.x);
    suspend();
  }

  // Every read of a status word passes here, so that a loop without `pause` ends too.
  void note_poll(const Site& site) {
    if (++poll_count_ % 1024 == 0) pause(site);
  }

  void note_event() {
    polled_ = false;
    counter_.events.store(counter_.events.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  [[noreturn]] void fail(const std::string& problem) const { throw Failure(located(problem) + describe()); }

 private:
  struct Fibre {
    Context context;
    const char* waits_at = "";
    Site site;
    unsigned parity = 0;
  };
  struct Warp {
    Rendezvous lanes;
    uint64_t slots[2][kWarpSize];
  };

  static void entry();
  void prepare();
  void resume(unsigned index);
  void leave(Rendezvous& members);
  void meet(Rendezvous& members, const char* name, const Site& site, bool orders_memory);
  void release(unsigned first, unsigned count);
  void wake_paused();
  void check_progress();
  std::string located(const std::string& problem) const;
  std::string describe() const;

  void note_wait(const char* name, const Site& site) {
    fibres_[threadIdx.x].waits_at = name;
    fibres_[threadIdx.x].site = site;
  }
  int64_t first_thread() const { return static_cast<int64_t>(blockIdx.x) * launch_.block; }
  void suspend() { fibres_[threadIdx.x].context.switch_to(scheduler_); }

  Launch& launch_;
  Launch::Counter& counter_;
  Stacks& stacks_;
  Random random_;
  Context scheduler_;
  std::vector<Fibre> fibres_;
  std::vector<Warp> warps_;
  Rendezvous barrier_;
  std::vector<unsigned> ready_;   // the last one runs next
  std::vector<unsigned> paused_;  // run when no other fibre can
  unsigned live_ = 0;
  bool polled_ = false;  // some fibre paused since the last event
  uint64_t poll_count_ = 0;
  uint64_t collective_count_ = 0;
  uint64_t seen_events_ = 0;
  Clock::time_point seen_at_;
  std::exception_ptr error_;
};

// Initialised to something other than zero for the reason given at threadIdx.
struct CurrentBlock {
  Block* block = nullptr;
  unsigned marker = 1;
};
inline thread_local constinit CurrentBlock current;

inline void Block::run(unsigned index) {
  blockIdx.x = index;
  prepare();
  while (live_ > 0 && !launch_.failed.load(std::memory_order_relaxed)) {
    if (ready_.empty()) wake_paused();
    const unsigned next = ready_.back();
    ready_.pop_back();
    resume(next);
    if (error_) std::rethrow_exception(error_);
  }
  note_event();
  if (live_ == 0) stacks_.leave_clean();
}

inline void Block::prepare() {
  random_ = Random(launch_.seed * 0x100000001b3u + blockIdx.x);
  stacks_.enter();
  live_ = launch_.block;
  barrier_ = Rendezvous{.first = 0, .count = live_};
  warps_.clear();
  for (unsigned first = 0; first < live_; first += kWarpSize) {
    warps_.push_back(Warp{Rendezvous{.first = first, .count = std::min(kWarpSize, live_ - first)}, {}});
  }
  for (unsigned index = 0; index < live_; ++index) {
    fibres_[index].waits_at = "(not started)";
    fibres_[index].context.prepare(stacks_[index], index, entry);
  }
  ready_.clear();
  paused_.clear();
  release(0, live_);
  note_event();
  seen_at_ = Clock::now();
}

inline void Block::resume(unsigned index) {
  current.block = this;
  threadIdx.x = index;
  sparsync_observe_thread(first_thread() + index);
  scheduler_.switch_to(fibres_[index].context);
  sparsync_observe_thread(-1);
}

#if defined(__SANITIZE_ADDRESS__)
__attribute__((no_sanitize_address))  // it never returns, so its redzones would stay
#endif
inline void Block::entry() {
  Block& block = *current.block;
  Context::arrive(block.scheduler_);
  try {
    block.launch_.body();
    --block.live_;
    block.note_wait("(returned)", {});
    block.leave(block.barrier_);
    block.leave(block.warps_[threadIdx.x / kWarpSize].lanes);
    block.note_event();
  } catch (const Failure&) {
    block.error_ = std::current_exception();
  } catch (const std::exception& error) {
    block.error_ = std::make_exception_ptr(Failure(block.located(error.what())));
  }
  block.fibres_[threadIdx.x].context.switch_to(block.scheduler_, true);
  std::abort();  // a finished fibre is never continued
}

inline void Block::leave(Rendezvous& members) {
  ++members.exited;
  if (members.arrived > 0) fail("divergent " + std::string(members.name) + ", some threads returned");
}

inline void Block::meet(Rendezvous& members, const char* name, const Site& site, bool orders_memory) {
  note_wait(name, site);
  if (members.exited > 0) fail("divergent " + std::string(name) + ", some threads returned");
  if (members.arrived > 0 && (members.site.line() != site.line() || members.site.column() != site.column() ||
                              members.site.file_name() != site.file_name() || members.name != name)) {
    fail("divergent " + std::string(name) + ", threads meet at different places");
  }
  members.name = name;
  members.site = site;
  if (++members.arrived == members.count) {
    members.arrived = 0;
    if (&members == &barrier_ && !polled_) note_event();  // a loop that polls and meets at barriers is no progress
    if (++collective_count_ % 4096 == 0) check_progress();
    if (orders_memory) sparsync_observe_meeting(first_thread() + members.first, members.count);
    release(members.first, members.count);
  }
  suspend();
}

// Makes fibres ready in a random order, by a coin either before all that are ready or mixed with them: warps both
// keep pace and run far ahead of each other.
inline void Block::release(unsigned first, unsigned count) {
  const unsigned begin = static_cast<unsigned>(ready_.size());
  const unsigned lowest = random_.below(2) == 0 ? begin : 0;
  for (unsigned index = first; index < first + count; ++index) {
    ready_.push_back(index);
    const unsigned last = static_cast<unsigned>(ready_.size()) - 1;
    std::swap(ready_[last], ready_[lowest + random_.below(last - lowest + 1)]);
  }
}

inline void Block::wake_paused() {
  if (paused_.empty()) fail("deadlock, no thread can run");
  check_progress();
  std::this_thread::yield();
  for (unsigned index : paused_) {
    ready_.push_back(index);
    std::swap(ready_.back(), ready_[random_.below(static_cast<unsigned>(ready_.size()))]);
  }
  paused_.clear();
}

inline void Block::check_progress() {
  const uint64_t events = launch_.events();
  const Clock::time_point now = Clock::now();
  if (events != seen_events_) {
    seen_events_ = events;
    seen_at_ = now;
  } else if (std::chrono::duration<double>(now - seen_at_).count() > launch_.timeout_seconds) {
    fail("deadlock, no block made progress for " + std::to_string(launch_.timeout_seconds) + " s");
  }
}

inline std::string Block::located(const std::string& problem) const {
  return "kernel " + launch_.kernel_name + ", block " + std::to_string(blockIdx.x) + " of " +
         std::to_string(launch_.grid) + ", thread " + std::to_string(threadIdx.x) + ": " + problem;
}

// Where the threads are: "; 224 threads (first 32) at __syncthreads (file:line)".
inline std::string Block::describe() const {
  struct Group {
    unsigned count = 0;
    unsigned first = 0;
  };
  std::map<std::string, Group> groups;
  for (unsigned index = 0; index < fibres_.size(); ++index) {
    const Fibre& fibre = fibres_[index];
    const bool placed = fibre.waits_at[0] != '(';
    Group& group = groups[fibre.waits_at + (placed ? " (" + text(fibre.site) + ")" : std::string())];
    if (group.count++ == 0) group.first = index;
  }
  std::string description;
  for (const auto& [place, group] : groups) {
    description += "; " + std::to_string(group.count) + " threads (first ";
    description += std::to_string(group.first) + ") at " + place;
  }
  return description;
}

}  // namespace sparsync::emulation
