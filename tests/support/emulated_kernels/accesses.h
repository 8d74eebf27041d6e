// What g++ -fsanitize=thread calls, passed on: included once, by who is linked in the place of ThreadSanitizer's library.
//
// `note_read(begin, bytes, caller)` and `note_write(...)` are told of every access, the emulation's own too, unless it is
// an atomic of C++; `caller` is where it returns to. What kernels do by atomics observer.h tells.
#pragma once

#include <cstddef>
#include <cstdint>

static void note_read(const void* begin, size_t bytes, const void* caller);
static void note_write(const void* begin, size_t bytes, const void* caller);

extern "C" {

#define CALLER __builtin_return_address(0)

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit(void*) {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_read_range(void* begin, size_t bytes) { note_read(begin, bytes, CALLER); }
void __tsan_write_range(void* begin, size_t bytes) { note_write(begin, bytes, CALLER); }

#define ACCESSES(bytes)                                                                   \
  void __tsan_read##bytes(void* begin) { note_read(begin, bytes, CALLER); }               \
  void __tsan_write##bytes(void* begin) { note_write(begin, bytes, CALLER); }             \
  void __tsan_unaligned_read##bytes(void* begin) { note_read(begin, bytes, CALLER); }     \
  void __tsan_unaligned_write##bytes(void* begin) { note_write(begin, bytes, CALLER); }
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)

// Atomics of C++ are the emulation's own.
void __tsan_atomic_thread_fence(int) {}
#define ATOMICS(bits)                                                                                          \
  uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t* word, int) {                        \
    return __atomic_load_n(word, __ATOMIC_SEQ_CST);                                                            \
  }                                                                                                            \
  void __tsan_atomic##bits##_store(volatile uint##bits##_t* word, uint##bits##_t value, int) {                 \
    __atomic_store_n(word, value, __ATOMIC_SEQ_CST);                                                           \
  }                                                                                                            \
  uint##bits##_t __tsan_atomic##bits##_exchange(volatile uint##bits##_t* word, uint##bits##_t value, int) {    \
    return __atomic_exchange_n(word, value, __ATOMIC_SEQ_CST);                                                 \
  }                                                                                                            \
  uint##bits##_t __tsan_atomic##bits##_fetch_add(volatile uint##bits##_t* word, uint##bits##_t value, int) {   \
    return __atomic_fetch_add(word, value, __ATOMIC_SEQ_CST);                                                  \
  }                                                                                                            \
  uint##bits##_t __tsan_atomic##bits##_fetch_sub(volatile uint##bits##_t* word, uint##bits##_t value, int) {   \
    return __atomic_fetch_sub(word, value, __ATOMIC_SEQ_CST);                                                  \
  }                                                                                                            \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile uint##bits##_t* word, uint##bits##_t* expected,   \
                                                    uint##bits##_t value, int, int) {                          \
    return __atomic_compare_exchange_n(word, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);      \
  }                                                                                                            \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile uint##bits##_t* word, uint##bits##_t* expected,     \
                                                  uint##bits##_t value, int, int) {                            \
    return __atomic_compare_exchange_n(word, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);      \
  }
ATOMICS(8)
ATOMICS(16)
ATOMICS(32)
ATOMICS(64)
}
