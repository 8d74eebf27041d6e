// Numbers of a fixed number of bits, one after the other from the lowest bit up: 32 of b bits fill b words of 32.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

namespace sparsync {

constexpr int kGroupSize = 32;
constexpr int kPackedBits = 31;

template <int kBits>
void pack_group(const uint32_t* numbers, uint32_t* words) {
  constexpr uint32_t kMask = (uint32_t)((uint64_t{1} << kBits) - 1);
  uint64_t pending = 0;
  int filled = 0;
#pragma GCC unroll 32
  for (int index = 0; index < kGroupSize; ++index) {
    pending |= (uint64_t)(numbers[index] & kMask) << filled;
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
  constexpr uint32_t kMask = (uint32_t)((uint64_t{1} << kBits) - 1);
#pragma GCC unroll 32
  for (int index = 0; index < kGroupSize; ++index) {
    if constexpr (kBits == 0) {
      numbers[index] = 0;
    } else {
      const int bit = index * kBits, word = bit / 32, shift = bit % 32;
      uint32_t number = words[word] >> shift;
      if (shift + kBits > 32) number |= words[word + 1] << (32 - shift);
      numbers[index] = number & kMask;
    }
  }
}

template <int kBits>
void pack_all(const uint32_t* numbers, int64_t groups, uint32_t* words) {
  for (int64_t group = 0; group < groups; ++group) pack_group<kBits>(numbers + group * kGroupSize, words + group * kBits);
}

template <int kBits>
void unpack_all(const uint32_t* words, int64_t groups, uint32_t* numbers) {
  for (int64_t group = 0; group < groups; ++group) {
    unpack_group<kBits>(words + group * kBits, numbers + group * kGroupSize);
  }
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
// By the number of bits, 0 to 31: words, groups of 32 numbers, numbers.
inline constexpr auto kUnpack = unpackers(std::make_integer_sequence<int, kPackedBits + 1>{});

}  // namespace sparsync
