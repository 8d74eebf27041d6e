// What a payload is on the wire, without torch: its values by one code, then its indices by another.
//
// The format is defined by kernels/codec_reference.py; what is here writes the same bytes and refuses the same ones.
// Every length of hostile bytes is checked before they are read; a block is read from a copy that is long enough.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace sparsync {

static_assert(std::endian::native == std::endian::little, "the wire is little-endian, and words are copied to it");

// Entries that share a Rice parameter, a scale or two levels; a multiple of 32, so that packed words end with a block.
constexpr int64_t kBlockSize = 1024;
// Positions within a chunk take 12 bits.
constexpr int kChunkBits = 12;
// The cheapest Rice parameter leaves at most 3n in the quotients of n gaps, and n ends of theirs.
constexpr int64_t kUnaryBitsEach = 4;
// Of gaps below 2^31 the cheapest parameter is at most this.
constexpr int kLargestParameter = 30;

enum class ValueCode { kExact = 0, kFp32 = 1, kBf16 = 2, kInt8 = 3, kInt2 = 4 };
enum class IndexCode { kRice = 0, kInt32 = 1, kInt12 = 2 };

// Numbers as in FAULTS of codec_reference.py.
enum class Fault : int64_t {
  kNone = 0,
  kNotFinite = 1,
  kIndices = 2,
  kEndsEarly = 3,
  kParameter = 4,
  kUnary = 5,
  kScale = 6,
  kCounts = 7,
  kLeftOver = 8,
};

// How a call ended: the bytes that were written or read, or what is wrong and at which entry or byte.
struct Outcome {
  Fault fault;
  int64_t where;
};

// The bytes of a body that are not read yet.
struct Reader {
  const uint8_t* bytes;
  int64_t length;
  int64_t position = 0;

  int64_t left() const { return length - position; }
  bool copy(void* target, int64_t count) {
    if (count > left()) return false;
    if (count > 0) memcpy(target, bytes + position, (size_t)count);
    position += count;
    return true;
  }
};

// The bytes of a body that are written; `length` is at least what the encoding can need.
struct Writer {
  uint8_t* bytes;
  int64_t length;
  int64_t position = 0;

  bool append(const void* source, int64_t count) {
    if (count > length - position) return false;
    if (count > 0) memcpy(bytes + position, source, (size_t)count);
    position += count;
    return true;
  }
};

inline int64_t bytes_for_bits(int64_t bits) { return (bits + 7) / 8; }

// Bits of a value as they are: how many bytes, and the bits that are all set where it is not finite.
struct RawType {
  int64_t width;
  uint64_t exponent_mask;
};

// Of each half of a body, one table for each instruction set: its source is compiled once per set.
struct ValueCoder {
  const char* instruction_set;
  // The first of `count` values that is not finite, or -1.
  int64_t (*first_non_finite)(const void* values, int64_t count, RawType type);
  Fault (*encode)(const void* values, int64_t count, RawType type, ValueCode code, Writer& writer);
  Fault (*decode)(Reader& reader, int64_t count, RawType type, ValueCode code, void* values);
};

struct IndexCoder {
  const char* instruction_set;
  // The first index that is not above the one before, or not in [0, dimension), or -1.
  int64_t (*first_misplaced)(const int32_t* indices, int64_t count, int64_t dimension);
  Fault (*encode)(const int32_t* indices, int64_t count, int64_t dimension, IndexCode code, Writer& writer);
  Fault (*decode)(Reader& reader, int64_t count, int64_t dimension, IndexCode code, int32_t* indices);
};

}  // namespace sparsync
