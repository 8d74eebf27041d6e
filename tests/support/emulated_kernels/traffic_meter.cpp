// How much a call reads and writes of each of its tensors: linked to the emulated kernels in place of ThreadSanitizer's
// library. One operating-system thread.
//
// Every access of the source counts, whatever a GPU's caches would save; and apart from that the sectors of 32 bytes that
// a launch reads and those that it writes, each once: what goes to memory if caches hold a launch's data and no longer.
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "accesses.h"

namespace {

constexpr uintptr_t kSector = 32;  // bytes

struct Traffic {
  int64_t bytes = 0;
  int64_t sectors = 0;           // of all launches so far
  std::vector<bool> is_touched;  // by sector, in this launch
};

struct Region {
  uintptr_t begin;
  uintptr_t end;
  std::string name;
  size_t width;
  Traffic reads, writes;
  int64_t narrow_count;  // accesses to fewer than `width` bytes
};

std::map<uintptr_t, Region> regions;  // by where they begin
bool is_running = false;

// The memory that holds an address; null: it is not watched, or no kernel is running.
Region* find_region(uintptr_t address) {
  if (!is_running) return nullptr;
  const auto next = regions.upper_bound(address);
  if (next == regions.begin()) return nullptr;
  Region& region = std::prev(next)->second;
  return address < region.end ? &region : nullptr;
}

void note(const void* place, size_t bytes, Traffic Region::* kind) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(place);
  Region* const region = find_region(address);
  if (region == nullptr) return;
  Traffic& traffic = region->*kind;
  traffic.bytes += static_cast<int64_t>(bytes);
  if (bytes < region->width) ++region->narrow_count;
  const uintptr_t first = region->begin / kSector;
  for (uintptr_t sector = address / kSector; sector <= (address + bytes - 1) / kSector; ++sector) {
    std::vector<bool>::reference is_touched = traffic.is_touched[sector - first];
    traffic.sectors += is_touched ? 0 : 1;
    is_touched = true;
  }
}

void forget(Traffic& traffic, const Region& region) {
  traffic.is_touched.assign(region.end / kSector - region.begin / kSector + 1, false);
}

}  // namespace

static void note_read(const void* begin, size_t bytes, const void*) { note(begin, bytes, &Region::reads); }
static void note_write(const void* begin, size_t bytes, const void*) { note(begin, bytes, &Region::writes); }

#define EXPORTED extern "C" __attribute__((visibility("default")))

// From now on accesses to these bytes count under that name, and as narrow if of fewer than `width`; no bytes: none do.
EXPORTED void sparsync_traffic_watch(const void* begin, size_t bytes, const char* name, size_t width) {
  if (bytes == 0) {
    regions.clear();
    return;
  }
  const uintptr_t address = reinterpret_cast<uintptr_t>(begin);
  regions[address] = {address, address + bytes, name, width, {}, {}, 0};
}

// One line for each memory: its name, bytes read and written, bytes of sectors read and written, narrow accesses.
EXPORTED const char* sparsync_traffic_found() {
  static std::string text;
  text.clear();
  for (const auto& [begin, region] : regions) {
    text += region.name;
    for (const int64_t count : {region.reads.bytes, region.writes.bytes, region.reads.sectors * int64_t{kSector},
                                region.writes.sectors * int64_t{kSector}, region.narrow_count}) {
      text += ";" + std::to_string(count);
    }
    text += "\n";
  }
  return text.c_str();
}

extern "C" {

void sparsync_observe_launch(unsigned, unsigned) {
  for (auto& [begin, region] : regions) {
    forget(region.reads, region);
    forget(region.writes, region);
  }
}

void sparsync_observe_block(const void*, size_t) {}
void sparsync_observe_thread(int64_t index) { is_running = index >= 0; }
void sparsync_observe_meeting(int64_t, unsigned) {}
void sparsync_observe_fence() {}

void sparsync_observe_atomic(const void* word, size_t bytes, int kind) {
  constexpr int kLoad = 0, kStore = 1;
  if (kind != kStore) note(word, bytes, &Region::reads);
  if (kind != kLoad) note(word, bytes, &Region::writes);
}
}
