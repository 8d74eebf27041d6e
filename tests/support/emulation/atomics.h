// Atomic functions: blocks run at the same time on several operating-system threads, so these are real atomics.
//
// Always inlined: an observer tells by its caller's address where in a kernel they stand.
#pragma once

#include <atomic>
#include <source_location>
#include <type_traits>

#include "scheduler.h"

namespace sparsync::emulation {

// Replaces *target by change(*target) at once; returns what was there before.
template <class T, class Change>
[[gnu::always_inline]] inline T change_atomically(T* target, const Change& change) {
  static_assert(std::is_integral_v<T> && sizeof(T) >= 4, "atomic sums of other types depend on the order");
  sparsync_observe_atomic(target, sizeof(T), static_cast<int>(Atomic::kChange));
  std::atomic_ref<T> word(*target);
  T before = word.load(std::memory_order_relaxed);
  while (!word.compare_exchange_weak(before, change(before), std::memory_order_relaxed)) {
  }
  if (change(before) != before) current.block->note_event();
  return before;
}

}  // namespace sparsync::emulation

template <class T>
[[gnu::always_inline]] inline T atomicAdd(T* target, std::type_identity_t<T> value) {
  using Wrapping = std::make_unsigned_t<T>;
  return sparsync::emulation::change_atomically(target, [value](T before) {
    return static_cast<T>(static_cast<Wrapping>(before) + static_cast<Wrapping>(value));
  });
}

template <class T>
[[gnu::always_inline]] inline T atomicMin(T* target, std::type_identity_t<T> value) {
  return sparsync::emulation::change_atomically(target, [value](T before) { return before < value ? before : value; });
}

template <class T>
[[gnu::always_inline]] inline T atomicMax(T* target, std::type_identity_t<T> value) {
  return sparsync::emulation::change_atomically(target, [value](T before) { return before > value ? before : value; });
}

template <class T>
[[gnu::always_inline]] inline T atomicOr(T* target, std::type_identity_t<T> value) {
  return sparsync::emulation::change_atomically(target, [value](T before) { return before | value; });
}

inline void __threadfence() {
  sparsync_observe_fence();
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

namespace sparsync {

// Here in order with other memory; on a GPU it is not.
[[gnu::always_inline]] inline unsigned long long load_relaxed(
    const unsigned long long* word, std::source_location site = std::source_location::current()) {
  emulation::current.block->note_poll(site);
  sparsync_observe_atomic(word, sizeof(*word), static_cast<int>(emulation::Atomic::kLoad));
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

[[gnu::always_inline]] inline void store_relaxed(unsigned long long* word, unsigned long long value) {
  sparsync_observe_atomic(word, sizeof(*word), static_cast<int>(emulation::Atomic::kStore));
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
  emulation::current.block->note_event();
}

inline void pause(std::source_location site = std::source_location::current()) {
  emulation::current.block->pause(site);
}

// Brings nothing: what is read does not depend on it.
inline void fetch(const void*, uint32_t) {}

template <class T>
T load_streaming(const T* source) {
  return *source;
}

}  // namespace sparsync
