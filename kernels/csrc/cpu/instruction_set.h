// The name of the instruction set that a source is compiled for: sources in HOST_STEPS with several sets have all their
// code in a namespace of this name, so that the linker never takes one set's functions for another's.
#pragma once

namespace sparsync {

enum class InstructionSet { kPortable, kAvx2, kAvx512 };

// The widest that this processor has, but none wider than the one that SPARSYNC_INSTRUCTION_SET names.
InstructionSet instruction_set();

}  // namespace sparsync

#if defined(__AVX512F__)
#define SPARSYNC_SET avx512
#elif defined(__AVX2__)
#define SPARSYNC_SET avx2
#else
#define SPARSYNC_SET portable
#endif
#define SPARSYNC_TEXT_OF(name) #name
#define SPARSYNC_TEXT(name) SPARSYNC_TEXT_OF(name)
