// Fibres: stacks with guard pages, and the switch from one to another on the same operating-system thread.
//
// AddressSanitizer is told of every switch. Where no assembly is given, ucontext does the switch, some twenty
// times slower.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <system_error>
#include <vector>

#if !defined(__x86_64__) && !defined(__aarch64__) && !defined(SPARSYNC_EMULATE_UCONTEXT)
#define SPARSYNC_EMULATE_UCONTEXT
#endif
#if defined(SPARSYNC_EMULATE_UCONTEXT)
#include <ucontext.h>
#endif

#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if !defined(SPARSYNC_EMULATE_UCONTEXT)
// Saves the registers that a call preserves on the stack, the stack pointer in *from, and continues at `to`.
extern "C" void sparsync_switch_fibre(void** from, void* to);
#if defined(__x86_64__)
asm(R"(
  .pushsection .text
  .weak sparsync_switch_fibre
  .hidden sparsync_switch_fibre
  .type sparsync_switch_fibre, @function
sparsync_switch_fibre:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rcx
  jmp *%rcx
  .size sparsync_switch_fibre, .-sparsync_switch_fibre
  .popsection
)");
#else
asm(R"(
  .pushsection .text
  .weak sparsync_switch_fibre
  .hidden sparsync_switch_fibre
  .type sparsync_switch_fibre, %function
sparsync_switch_fibre:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
  .size sparsync_switch_fibre, .-sparsync_switch_fibre
  .popsection
)");
#endif
#endif

namespace sparsync::emulation {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr size_t kStackBytes = 256 << 10;  // redzones around every local
#else
inline constexpr size_t kStackBytes = 64 << 10;
#endif
inline constexpr unsigned kMaximalBlock = 1024;

// The stacks of one block, kept from launch to launch. Below each lies a page that cannot be touched.
class Stacks {
 public:
  Stacks() : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    void* memory = mmap(nullptr, kMaximalBlock * (page_ + kStackBytes), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap of fibre stacks");
    memory_ = static_cast<char*>(memory);
  }
  ~Stacks() {
    lift_redzones();
    munmap(memory_, kMaximalBlock * (page_ + kStackBytes));
  }
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;

  // The lowest address of stack `index`, of kStackBytes.
  char* operator[](unsigned index) {
    for (; guarded_ <= index; ++guarded_) {
      if (mprotect(memory_ + guarded_ * (page_ + kStackBytes), page_, PROT_NONE) != 0) {
        throw std::system_error(errno, std::generic_category(), "mprotect of a guard page");
      }
    }
    return memory_ + index * (page_ + kStackBytes) + page_;
  }

  // A block begins; if it is abandoned, AddressSanitizer's redzones stay on its stacks until the next one begins.
  void enter() {
    lift_redzones();
    in_use_ = true;
  }
  void leave_clean() { in_use_ = false; }

 private:
  void lift_redzones() {
#if defined(__SANITIZE_ADDRESS__)
    for (unsigned index = 0; in_use_ && index < guarded_; ++index) {
      __asan_unpoison_memory_region((*this)[index], kStackBytes);
    }
#endif
  }

  size_t page_;
  char* memory_;
  unsigned guarded_ = 0;
  bool in_use_ = false;
};

// A place to continue: a fibre, or the scheduler's own stack.
class Context {
 public:
  // Makes the next `switch_to` this context call `entry`, which never returns.
  //   colour: shifts the stack's top, because equal low address bits would share few cache sets.
  void prepare(char* stack, unsigned colour, void (*entry)()) {
    bottom_ = stack;
    size_ = kStackBytes;
#if defined(SPARSYNC_EMULATE_UCONTEXT)
    static_cast<void>(colour);
    getcontext(&context_);
    context_.uc_stack.ss_sp = stack;
    context_.uc_stack.ss_size = kStackBytes;
    context_.uc_link = nullptr;
    makecontext(&context_, entry, 0);
#else
    void** top = reinterpret_cast<void**>(stack + kStackBytes - 64 - colour % 32 * 128);
#if defined(__x86_64__)
    *--top = nullptr;  // where a call would have left its return address
    *--top = reinterpret_cast<void*>(entry);
    for (int saved = 0; saved < 6; ++saved) *--top = nullptr;
#else
    top -= 20;
    for (int saved = 0; saved < 20; ++saved) top[saved] = nullptr;
    top[11] = reinterpret_cast<void*>(entry);  // x30, the address that `ret` goes to
#endif
    stack_pointer_ = top;
#endif
  }

  // Continues `target`; returns when something switches back. A finished context is never continued again.
  void switch_to(Context& target, bool finished = false) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(finished ? nullptr : &fake_stack_, target.bottom_, target.size_);
#else
    static_cast<void>(finished);
#endif
#if defined(SPARSYNC_EMULATE_UCONTEXT)
    swapcontext(&context_, &target.context_);
#else
    sparsync_switch_fibre(&stack_pointer_, target.stack_pointer_);
#endif
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(fake_stack_, nullptr, nullptr);
#endif
  }

  // Called first by every entry: `origin` is the context that switched here.
  static void arrive([[maybe_unused]] Context& origin) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(nullptr, &origin.bottom_, &origin.size_);
#endif
  }

 private:
#if defined(SPARSYNC_EMULATE_UCONTEXT)
  ucontext_t context_;
#else
  void* stack_pointer_ = nullptr;
#endif
  const void* bottom_ = nullptr;
  size_t size_ = 0;
  [[maybe_unused]] void* fake_stack_ = nullptr;
};

}  // namespace sparsync::emulation
