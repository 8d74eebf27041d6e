// Which instruction sets this processor has.
#include "cpu/instruction_set.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace sparsync {
namespace {

InstructionSet widest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")) {
    return __builtin_cpu_supports("avx512f") ? InstructionSet::kAvx512 : InstructionSet::kAvx2;
  }
#endif
  return InstructionSet::kPortable;
}

InstructionSet most() {
  const char* named = std::getenv("SPARSYNC_INSTRUCTION_SET");
  if (named == nullptr || std::strcmp(named, "avx512") == 0) return InstructionSet::kAvx512;
  return std::strcmp(named, "avx2") == 0 ? InstructionSet::kAvx2 : InstructionSet::kPortable;
}

}  // namespace

InstructionSet instruction_set() {
  static const InstructionSet chosen = std::min(widest(), most());
  return chosen;
}

}  // namespace sparsync
