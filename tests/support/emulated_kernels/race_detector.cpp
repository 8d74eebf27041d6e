// Which accesses of a launch no order separates: linked to the emulated kernels in place of ThreadSanitizer's library.
//
// accesses.h tells of every access, observer.h of what orders them. The order is what the PTX
// memory model promises for one device, in vector clocks (Fidge 1988, Mattern 1989): of a thread's own accesses; by
// __syncthreads and __syncwarp of those before it and those after it; and from a __threadfence, followed by an atomic
// write of the same thread, to another thread's __threadfence that follows an atomic read of what was written or of an
// atomic change of that. Shuffles and votes order nothing. Of two accesses to one place by two threads, one of them a
// write and not both atomic, one has to come before the other.
//
// One operating-system thread. Who comes first is taken from the run, so a run shows the races of all schedules in
// which threads meet and atomics read from each other alike.
#include <link.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "accesses.h"

namespace {

constexpr size_t kGranule = 4;  // bytes that are one place

using Clock = std::vector<uint32_t>;  // by thread of the grid, how far it has come

enum class Atomic : int { kLoad, kStore, kChange };

struct Thread {
  std::shared_ptr<const Clock> before;    // what of the others comes before what it does now
  std::shared_ptr<const Clock> released;  // what comes before its last fence, that included
  std::shared_ptr<Clock> unfenced;        // what atomics have told it since
  uint32_t epoch = 1;
};

struct Access {
  uint32_t thread = 0;
  uint32_t epoch = 0;  // 0: none
  uintptr_t place = 0;  // in the code
};

void join(Clock& clock, const Clock& other) {
  for (size_t thread = 0; thread < clock.size(); ++thread) clock[thread] = std::max(clock[thread], other[thread]);
}

std::vector<Thread> threads;
int64_t running = -1;
unsigned block_size = 0;

bool is_before_now(const Access& access) {
  if (access.epoch == 0 || access.thread == running) return true;
  return (*threads[static_cast<size_t>(running)].before)[access.thread] >= access.epoch;
}

// Accesses of one kind to one place: the last of each thread, but for those that come before all later ones anyway.
class Accesses {
 public:
  void add(const Access& access) {
    if (many_ == nullptr && is_before_now(one_)) {
      one_ = access;
      return;
    }
    if (many_ == nullptr) {
      many_ = std::make_unique<std::vector<Access>>(threads.size());
      (*many_)[one_.thread] = one_;
    }
    (*many_)[access.thread] = access;
  }

  // One of them that does not come before what the running thread does now, or none.
  const Access* find_unordered() const {
    if (many_ == nullptr) return is_before_now(one_) ? nullptr : &one_;
    const auto found = std::find_if_not(many_->begin(), many_->end(), is_before_now);
    return found == many_->end() ? nullptr : &*found;
  }

 private:
  Access one_;
  std::unique_ptr<std::vector<Access>> many_;  // by thread
};

struct Cell {
  Accesses writes, reads, atomics, loads;  // `loads` are atomic, `atomics` are the others
};

constexpr size_t kPage = 256;  // cells

struct Region {
  uintptr_t begin;
  uintptr_t end;
  std::string name;
  std::vector<std::unique_ptr<std::array<Cell, kPage>>> pages;

  Cell& cell(uintptr_t address) {
    const size_t index = address / kGranule - begin / kGranule;
    auto& page = pages[index / kPage];
    if (page == nullptr) page = std::make_unique<std::array<Cell, kPage>>();
    return (*page)[index % kPage];
  }
  void forget() {
    pages.clear();
    pages.resize((end / kGranule - begin / kGranule) / kPage + 1);
  }
};

std::map<uintptr_t, Region> regions;  // by where they begin
uintptr_t shared_begin = 0;
std::unordered_map<uintptr_t, std::shared_ptr<const Clock>> told;  // by atomics, to who reads them
std::map<std::string, int> races;

void add_region(const void* first, size_t bytes, const char* name) {
  const uintptr_t begin = reinterpret_cast<uintptr_t>(first);
  Region& region = regions[begin] = {begin, begin + bytes, name, {}};
  region.forget();
}

std::string describe(const char* kind, uintptr_t place) {
  char text[64];
  snprintf(text, sizeof(text), "%s %zx", kind, place);
  return text;
}

void note_race(const Region& region, const char* first, const Access& access, const char* second, uintptr_t place) {
  const bool is_one_block = access.thread / block_size == static_cast<uint32_t>(running) / block_size;
  ++races[region.name + "; " + describe(first, access.place) + "; " + describe(second, place) +
          (is_one_block ? "; threads of a block" : "; blocks")];
}

Region* find_region(uintptr_t address) {
  const auto next = regions.upper_bound(address);
  if (next == regions.begin()) return nullptr;
  Region& region = std::prev(next)->second;
  return address < region.end ? &region : nullptr;
}

template <class Check>
void for_each_cell(const void* begin, size_t bytes, const Check& check) {
  if (running < 0) return;
  const uintptr_t address = reinterpret_cast<uintptr_t>(begin);
  Region* const region = find_region(address);
  if (region == nullptr) return;
  const uintptr_t end = std::min(address + bytes, region->end);
  for (uintptr_t place = address; place < end; place = (place / kGranule + 1) * kGranule) {
    check(*region, region->cell(place));
  }
}

Access access_now(uintptr_t place) {
  return {static_cast<uint32_t>(running), threads[static_cast<size_t>(running)].epoch, place};
}

uintptr_t library_begin() {
  static const uintptr_t begin = [] {
    struct Found {
      uintptr_t address, begin;
    } found{reinterpret_cast<uintptr_t>(&note_read), 0};
    dl_iterate_phdr(
        [](dl_phdr_info* library, size_t, void* data) {
          Found& wanted = *static_cast<Found*>(data);
          for (int part = 0; part < library->dlpi_phnum; ++part) {
            const ElfW(Phdr)& header = library->dlpi_phdr[part];
            const uintptr_t start = library->dlpi_addr + header.p_vaddr;
            if (header.p_type == PT_LOAD && wanted.address - start < header.p_memsz) wanted.begin = library->dlpi_addr;
          }
          return 0;
        },
        &found);
    return found.begin;
  }();
  return begin;
}

// Where in the library a call was made.
uintptr_t place_of(const void* caller) { return reinterpret_cast<uintptr_t>(caller) - library_begin() - 1; }

void note_atomic(const void* begin, size_t bytes, uintptr_t place, Atomic kind) {
  for_each_cell(begin, bytes, [&](const Region& region, Cell& cell) {
    if (const Access* write = cell.writes.find_unordered()) note_race(region, "write", *write, "atomic", place);
    if (kind != Atomic::kLoad) {
      if (const Access* read = cell.reads.find_unordered()) note_race(region, "read", *read, "atomic", place);
    }
    (kind == Atomic::kLoad ? cell.loads : cell.atomics).add(access_now(place));
  });
}

// A fence releases to who reads a later atomic, and acquires from atomics read before it.
void pass_on(uintptr_t address, Atomic kind) {
  Thread& thread = threads[static_cast<size_t>(running)];
  std::shared_ptr<const Clock>& word = told[address];
  if (kind != Atomic::kStore && word != nullptr) {
    if (thread.unfenced == nullptr) thread.unfenced = std::make_shared<Clock>(threads.size());
    join(*thread.unfenced, *word);
  }
  if (kind == Atomic::kLoad || (kind == Atomic::kChange && thread.released == nullptr)) return;
  if (kind == Atomic::kStore || word == nullptr) {
    word = thread.released;
    return;
  }
  auto both = std::make_shared<Clock>(*word);
  join(*both, *thread.released);
  word = std::move(both);
}

}  // namespace

static void note_read(const void* begin, size_t bytes, const void* caller) {
  const uintptr_t place = place_of(caller);
  for_each_cell(begin, bytes, [&](const Region& region, Cell& cell) {
    if (const Access* write = cell.writes.find_unordered()) note_race(region, "write", *write, "read", place);
    if (const Access* atomic = cell.atomics.find_unordered()) note_race(region, "atomic", *atomic, "read", place);
    cell.reads.add(access_now(place));
  });
}

static void note_write(const void* begin, size_t bytes, const void* caller) {
  const uintptr_t place = place_of(caller);
  for_each_cell(begin, bytes, [&](const Region& region, Cell& cell) {
    if (const Access* write = cell.writes.find_unordered()) note_race(region, "write", *write, "write", place);
    if (const Access* read = cell.reads.find_unordered()) note_race(region, "read", *read, "write", place);
    if (const Access* atomic = cell.atomics.find_unordered()) note_race(region, "atomic", *atomic, "write", place);
    if (const Access* load = cell.loads.find_unordered()) note_race(region, "atomic", *load, "write", place);
    cell = {};  // whatever meets one of these and comes after this write meets it, too
    cell.writes.add(access_now(place));
  });
}

#define EXPORTED extern "C" __attribute__((visibility("default")))

// From now on races in these bytes are noted under that name; no bytes: none of those watched so far is any longer.
EXPORTED void sparsync_races_watch(const void* begin, size_t bytes, const char* name) {
  if (bytes == 0) {
    regions.clear();
    return;
  }
  add_region(begin, bytes, name);
}

// The races since the last question, one a line: "name; write 1a2b; read 3c4d; blocks"; places are offsets in the library.
EXPORTED const char* sparsync_races_found() {
  static std::string text;
  text.clear();
  for (const auto& [race, count] : races) text += race + "\n";
  races.clear();
  return text.c_str();
}

extern "C" {

void sparsync_observe_launch(unsigned grid, unsigned block) {
  block_size = block;
  threads.assign(static_cast<size_t>(grid) * block, Thread{});
  const auto nothing = std::make_shared<const Clock>(threads.size());
  for (Thread& thread : threads) thread.before = nothing;
  for (auto& [begin, region] : regions) region.forget();
  told.clear();
}

void sparsync_observe_block(const void* shared, size_t bytes) {
  regions.erase(shared_begin);
  shared_begin = reinterpret_cast<uintptr_t>(shared);
  if (bytes > 0) add_region(shared, bytes, "shared");
}

void sparsync_observe_thread(int64_t index) { running = index; }

void sparsync_observe_meeting(int64_t first, unsigned count) {
  auto all = std::make_shared<Clock>(threads.size());
  const Clock* known = nullptr;
  for (int64_t index = first; index < first + count; ++index) {
    const Clock* const before = threads[static_cast<size_t>(index)].before.get();
    if (before != known) join(*all, *before);
    known = before;
  }
  for (int64_t index = first; index < first + count; ++index) {
    (*all)[static_cast<size_t>(index)] = threads[static_cast<size_t>(index)].epoch++;
  }
  for (int64_t index = first; index < first + count; ++index) threads[static_cast<size_t>(index)].before = all;
}

void sparsync_observe_fence() {
  Thread& thread = threads[static_cast<size_t>(running)];
  auto now = std::make_shared<Clock>(*thread.before);
  if (thread.unfenced != nullptr) join(*now, *std::exchange(thread.unfenced, nullptr));
  thread.before = now;
  auto released = std::make_shared<Clock>(*now);
  (*released)[static_cast<size_t>(running)] = thread.epoch++;
  thread.released = released;
}

void sparsync_observe_atomic(const void* word, size_t bytes, int kind) {
  if (running < 0) return;
  note_atomic(word, bytes, place_of(__builtin_return_address(0)), static_cast<Atomic>(kind));
  pass_on(reinterpret_cast<uintptr_t>(word), static_cast<Atomic>(kind));
}
}
