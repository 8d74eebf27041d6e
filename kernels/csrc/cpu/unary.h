// Numbers as so many zeros and a one, from the lowest bit of a byte up: what the quotients of Rice code are written as.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "cpu/instruction_set.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace sparsync::SPARSYNC_SET {

// Places that `read_unary` may scribble on behind the last, and bytes that `write_unary` may.
constexpr int64_t kUnarySlack = 8;

// Bits one after another, the lowest of a byte first.
class BitWriter {
 public:
  // Every code is at most so long: with the seven bits of a byte that is not full it fits a word.
  static constexpr uint64_t kMostBits = 56;

  explicit BitWriter(uint8_t* bytes) : bytes_(bytes) {}

  void append(uint64_t code, uint64_t length) {
    pending_ |= code << filled_;
    memcpy(bytes_ + whole_, &pending_, sizeof pending_);
    const uint64_t total = filled_ + length;
    whole_ += (int64_t)(total / 8);
    pending_ >>= total / 8 * 8;
    filled_ = total % 8;
  }

  void append_unary(uint32_t number) {
    for (; number >= kMostBits; number -= (uint32_t)kMostBits) append(0, kMostBits);
    append(uint64_t{1} << number, number + 1);
  }

  // Bytes with a bit.
  int64_t length() const { return whole_ + (filled_ > 0); }

 private:
  uint8_t* bytes_;
  int64_t whole_ = 0;
  uint64_t pending_ = 0;
  uint64_t filled_ = 0;
};

#if defined(__AVX2__)

typedef uint64_t FourWords __attribute__((vector_size(32)));

struct Code {
  FourWords bits;
  FourWords length;
};

// A shift by 64 or more gives zero.
inline FourWords shifted(FourWords bits, FourWords places) {
  return (FourWords)_mm256_sllv_epi64((__m256i)bits, (__m256i)places);
}

inline Code joined(Code first, Code second) {
  return {first.bits | shifted(second.bits, first.length), first.length + second.length};
}

// The codes of two numbers below 2^32, one in each half of a lane.
inline Code code_of(FourWords numbers) {
  const FourWords first = numbers & 0xffffffffu, both = first + (numbers >> 32);
  return {shifted(FourWords{} + 1, first) | shifted(FourWords{} + 2, both), both + 2};
}

// Of four times eight numbers: the codes of each eight in a lane of its own.
inline Code code_of_eights(const uint32_t* numbers, int shift) {
  __m256i eights[4];
  for (int lane = 0; lane < 4; ++lane) {
    const __m256i here = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(numbers + 8 * lane));
    eights[lane] = _mm256_srl_epi32(here, _mm_cvtsi32_si128(shift));
  }
  const __m256i low = _mm256_unpacklo_epi64(eights[0], eights[1]), low_next = _mm256_unpacklo_epi64(eights[2], eights[3]);
  const __m256i high = _mm256_unpackhi_epi64(eights[0], eights[1]), high_next = _mm256_unpackhi_epi64(eights[2], eights[3]);
  const Code first = code_of((FourWords)_mm256_permute2x128_si256(low, low_next, 0x20));
  const Code second = code_of((FourWords)_mm256_permute2x128_si256(high, high_next, 0x20));
  const Code third = code_of((FourWords)_mm256_permute2x128_si256(low, low_next, 0x31));
  const Code last = code_of((FourWords)_mm256_permute2x128_si256(high, high_next, 0x31));
  return joined(joined(first, second), joined(third, last));
}

// Every number without its `shift` lowest bits; returns the bytes that are written.
inline int64_t write_unary(const uint32_t* numbers, int64_t count, int shift, uint8_t* bytes) {
  BitWriter writer(bytes);
  int64_t first = 0;
  for (; first + 32 <= count; first += 32) {
    const Code eights = code_of_eights(numbers + first, shift);
    for (int lane = 0; lane < 4; ++lane) {
      if (eights.length[lane] <= BitWriter::kMostBits) {
        writer.append(eights.bits[lane], eights.length[lane]);
      } else {
        for (int index = 0; index < 8; ++index) writer.append_unary(numbers[first + 8 * lane + index] >> shift);
      }
    }
  }
  for (; first < count; ++first) writer.append_unary(numbers[first] >> shift);
  return writer.length();
}

#else

inline int64_t write_unary(const uint32_t* numbers, int64_t count, int shift, uint8_t* bytes) {
  uint64_t word = 0;
  uint64_t place = 0;
  int64_t written = 0;
  for (int64_t index = 0; index < count; ++index) {
    place += numbers[index] >> shift;
    while (place >= 64) {
      memcpy(bytes + written, &word, 8);
      written += 8;
      word = 0;
      place -= 64;
    }
    word |= uint64_t{1} << place;
    ++place;
  }
  memcpy(bytes + written, &word, 8);
  return written + (int64_t)((place + 7) / 8);
}

#endif

// Where the ones of a byte are, lowest first; the places after them are zero.
struct OnesTable {
  uint16_t places[256][8];
};

constexpr OnesTable make_ones() {
  OnesTable table{};
  for (int byte = 0; byte < 256; ++byte) {
    int found = 0;
    for (int bit = 0; bit < 8; ++bit) {
      if (byte >> bit & 1) table.places[byte][found++] = (uint16_t)bit;
    }
  }
  return table;
}

inline constexpr OnesTable kOnes = make_ones();

// The places of the first `count` ones; returns the bytes up to the last, or -1 if they do not hold exactly so many.
inline int64_t read_unary(const uint8_t* bytes, int64_t available, int64_t count, uint16_t* places) {
  int64_t found = 0, byte = 0;
  while (found < count) {
    if (byte == available) return -1;
    const uint8_t bits = bytes[byte];
    const uint16_t base = (uint16_t)(8 * byte);
    for (int slot = 0; slot < 8; ++slot) places[found + slot] = (uint16_t)(base + kOnes.places[bits][slot]);
    found += std::popcount(bits);
    ++byte;
  }
  return found == count ? byte : -1;
}

}  // namespace sparsync::SPARSYNC_SET
