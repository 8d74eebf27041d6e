// Numbers of a fixed number of bits, one after the other from the lowest bit up: 32 of b bits fill b words of 32.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include "cpu/instruction_set.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace sparsync::SPARSYNC_SET {

constexpr int kGroupSize = 32;
constexpr int kPackedBits = 31;
// Words behind the packed ones that unpacking may look at.
constexpr int kPackedSlack = 8;

template <int kBits>
constexpr uint32_t kLowBits = (uint32_t)((uint64_t{1} << kBits) - 1);

#if defined(__AVX2__)

typedef uint32_t Eight __attribute__((vector_size(32)));

// From each lane of `places` the lane of `vector` that it names.
inline Eight lanes_of(Eight vector, Eight places) {
  return (Eight)_mm256_permutevar8x32_epi32((__m256i)vector, (__m256i)places);
}

// Two or four numbers at a time are joined, all groups of them side by side, before words are filled one after another.
template <int kBits>
void pack_group(const uint32_t* numbers, uint32_t* words) {
  constexpr int kJoined = kBits <= 16 ? 4 : 2, kJoinedBits = kJoined * kBits;
  std::array<uint64_t, kGroupSize / 2> joined;
  for (size_t pair = 0; pair < joined.size(); ++pair) {
    uint64_t both;
    memcpy(&both, numbers + 2 * pair, sizeof both);
    joined[pair] = (both & kLowBits<kBits>) | (both >> 32 & kLowBits<kBits>) << kBits;
  }
  if constexpr (kJoined == 4) {
    for (size_t four = 0; four < joined.size() / 2; ++four) {
      joined[four] = joined[2 * four] | joined[2 * four + 1] << 2 * kBits;
    }
  }
  uint64_t pending = 0;
  int filled = 0;
#pragma GCC unroll 16
  for (size_t index = 0; index < kGroupSize / kJoined; ++index) {
    pending |= joined[index] << filled;
    filled += kJoinedBits;
    if (filled >= 64) {
      memcpy(words, &pending, sizeof pending);
      words += 2;
      filled -= 64;
      pending = filled == 0 ? 0 : joined[index] >> (kJoinedBits - filled);
    }
  }
  if constexpr (kBits % 2 == 1) memcpy(words, &pending, sizeof *words);
}

// Eight numbers lie in `kBits` bytes: in each lane the word where a number begins, and the word after it.
template <int kBits>
void unpack_all(const uint32_t* words, int64_t groups, uint32_t* numbers) {
  constexpr uint32_t kStep = kBits;
  const Eight bits = {0, kStep, 2 * kStep, 3 * kStep, 4 * kStep, 5 * kStep, 6 * kStep, 7 * kStep};
  const Eight first = bits / 32, shifts = bits % 32;
  const char* bytes = reinterpret_cast<const char*>(words);
  for (int64_t place = 0; place < groups * kGroupSize; place += 8, bytes += kBits) {
    Eight here;
    memcpy(&here, bytes, sizeof here);
    const Eight whole = (lanes_of(here, first) >> shifts | lanes_of(here, first + 1) << 1 << (31 - shifts)) & kLowBits<kBits>;
    memcpy(numbers + place, &whole, sizeof whole);
  }
}

#else

template <int kBits>
void pack_group(const uint32_t* numbers, uint32_t* words) {
  uint64_t pending = 0;
  int filled = 0;
#pragma GCC unroll 32
  for (int index = 0; index < kGroupSize; ++index) {
    pending |= (uint64_t)(numbers[index] & kLowBits<kBits>) << filled;
    filled += kBits;
    if (filled >= 32) {
      *words++ = (uint32_t)pending;
      pending >>= 32;
      filled -= 32;
    }
  }
}

template <int kBits>
void unpack_group(const uint32_t* words, uint32_t* numbers) {
#pragma GCC unroll 32
  for (int index = 0; index < kGroupSize; ++index) {
    if constexpr (kBits == 0) {
      numbers[index] = 0;
    } else {
      const int bit = index * kBits, word = bit / 32, shift = bit % 32;
      uint32_t number = words[word] >> shift;
      if (shift + kBits > 32) number |= words[word + 1] << (32 - shift);
      numbers[index] = number & kLowBits<kBits>;
    }
  }
}

template <int kBits>
void unpack_all(const uint32_t* words, int64_t groups, uint32_t* numbers) {
  for (int64_t group = 0; group < groups; ++group) {
    unpack_group<kBits>(words + group * kBits, numbers + group * kGroupSize);
  }
}

#endif

template <int kBits>
void pack_all(const uint32_t* numbers, int64_t groups, uint32_t* words) {
  for (int64_t group = 0; group < groups; ++group) pack_group<kBits>(numbers + group * kGroupSize, words + group * kBits);
}

using Pack = void (*)(const uint32_t*, int64_t, uint32_t*);

template <int... kBits>
constexpr std::array<Pack, sizeof...(kBits)> packers(std::integer_sequence<int, kBits...>) {
  return {&pack_all<kBits>...};
}

template <int... kBits>
constexpr std::array<Pack, sizeof...(kBits)> unpackers(std::integer_sequence<int, kBits...>) {
  return {&unpack_all<kBits>...};
}

// By the number of bits, 0 to 31: numbers, groups of 32 of them, words; the high bits of a number are dropped.
inline constexpr auto kPack = packers(std::make_integer_sequence<int, kPackedBits + 1>{});
// By the number of bits, 0 to 31: words and `kPackedSlack` more, groups of 32 numbers, numbers.
inline constexpr auto kUnpack = unpackers(std::make_integer_sequence<int, kPackedBits + 1>{});

}  // namespace sparsync::SPARSYNC_SET
