// Barriers and warp collectives, with the meaning of the CUDA programming guide for a full mask.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <string>
#include <type_traits>

#include "scheduler.h"

namespace sparsync::emulation {

// The 32 lanes' values, after all lanes have come.
template <class T>
class Lanes {
  static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8), "shuffles move 32 or 64 bits");
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

 public:
  // `orders_memory`: what the lanes did before comes before what they do after; shuffles and votes promise no such thing.
  Lanes(const char* name, unsigned mask, T value, const Site& site, bool orders_memory = false) {
    if (mask != 0xffffffffu) current.block->fail(std::string(name) + " with a mask that is not full");
    slots_ = current.block->exchange(name, std::bit_cast<Bits>(value), site, orders_memory);
  }
  T operator[](unsigned lane) const { return std::bit_cast<T>(static_cast<Bits>(slots_[lane])); }

 private:
  const uint64_t* slots_;
};

inline unsigned lane_index() { return threadIdx.x % kWarpSize; }

inline unsigned ballot(const char* name, unsigned mask, int predicate, const Site& site) {
  const Lanes<int> lanes(name, mask, predicate, site);
  unsigned bits = 0;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) bits |= static_cast<unsigned>(lanes[lane] != 0) << lane;
  return bits;
}

}  // namespace sparsync::emulation

// Each takes as its last argument the place that calls it; threads must meet at one place.
#define SPARSYNC_SITE std::source_location site = std::source_location::current()

inline void __syncthreads(SPARSYNC_SITE) { sparsync::emulation::current.block->barrier(site); }

inline void __syncwarp(unsigned mask = 0xffffffffu, SPARSYNC_SITE) {
  sparsync::emulation::Lanes<unsigned>("__syncwarp", mask, 0, site, true);
}

template <class T>
T __shfl_sync(unsigned mask, T value, int source, SPARSYNC_SITE) {
  return sparsync::emulation::Lanes<T>("__shfl_sync", mask, value, site)[static_cast<unsigned>(source) % 32];
}

template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, SPARSYNC_SITE) {
  const sparsync::emulation::Lanes<T> lanes("__shfl_xor_sync", mask, value, site);
  const unsigned lane = sparsync::emulation::lane_index();
  const unsigned source = lane ^ static_cast<unsigned>(lane_mask);
  return lanes[source < 32 ? source : lane];
}

template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned distance, SPARSYNC_SITE) {
  const sparsync::emulation::Lanes<T> lanes("__shfl_up_sync", mask, value, site);
  const unsigned lane = sparsync::emulation::lane_index();
  return lanes[distance <= lane ? lane - distance : lane];
}

template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned distance, SPARSYNC_SITE) {
  const sparsync::emulation::Lanes<T> lanes("__shfl_down_sync", mask, value, site);
  const unsigned lane = sparsync::emulation::lane_index();
  return lanes[distance < 32 - lane ? lane + distance : lane];
}

inline unsigned __ballot_sync(unsigned mask, int predicate, SPARSYNC_SITE) {
  return sparsync::emulation::ballot("__ballot_sync", mask, predicate, site);
}

inline int __any_sync(unsigned mask, int predicate, SPARSYNC_SITE) {
  return sparsync::emulation::ballot("__any_sync", mask, predicate, site) != 0;
}

inline int __all_sync(unsigned mask, int predicate, SPARSYNC_SITE) {
  return sparsync::emulation::ballot("__all_sync", mask, predicate, site) == 0xffffffffu;
}

#undef SPARSYNC_SITE
