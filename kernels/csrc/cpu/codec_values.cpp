// Values on the wire: as they are, as bfloat16, or in blocks with a scale in 8 or 2 bits each.
//
// Scales are powers of two, so that scaling, comparing and the difference v - Q(v) round nothing (codec_reference.py).
#include <algorithm>
#include <array>
#include <cmath>

#include "cpu/codec.h"
#include "cpu/instruction_set.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace sparsync::SPARSYNC_SET {
namespace {

constexpr uint32_t kMagnitude = 0x7fffffffu, kSign = 0x80000000u, kInfinity = 0x7f800000u;
constexpr uint32_t kLargestBfloat16 = 0x7f7fu;
constexpr int kBias = 127, kLargestExponent = 254;
// The largest magnitude of a block lies in [64, 128) steps of 8 bits, in [2^15, 2^16) steps of the two levels.
constexpr int kInt8Bits = 6, kInt2Bits = 15, kLargestInt8 = 127;
// Added and taken off again, it rounds a float below 2^22 to an integer, ties to even.
constexpr float kRounder = 12582912.0f;
constexpr int kLargestStep = 100;

uint32_t bits_of(float value) { return std::bit_cast<uint32_t>(value); }
float float_of(uint32_t bits) { return std::bit_cast<float>(bits); }

// x -> x 2^power in two exact steps, for powers up to 141 that are no float.
struct Scaling {
  float first;
  float second;

  explicit Scaling(int power)
      : first(std::ldexp(1.0f, std::min(power, kLargestStep))), second(std::ldexp(1.0f, power - std::min(power, kLargestStep))) {}
  float operator()(float value) const { return value * first * second; }
};

// The biased exponent of the largest magnitude; that of subnormals is 1.
int block_exponent(const float* values, int64_t size) {
  int32_t largest = 0;
  for (int64_t index = 0; index < size; ++index) largest = std::max(largest, (int32_t)(bits_of(values[index]) & kMagnitude));
  return std::max(1, largest >> 23);
}

template <class Word>
int64_t first_with_all(const Word* words, int64_t count, Word mask) {
  // A sum of ones, not an exit at the first: this loop is one of vectors.
  constexpr int64_t kStretch = 4096;
  for (int64_t first = 0; first < count; first += kStretch) {
    const int64_t end = std::min(count, first + kStretch);
    Word found = 0;
    for (int64_t index = first; index < end; ++index) found |= (Word)((words[index] & mask) == mask);
    if (!found) continue;
    for (int64_t index = first; index < end; ++index) {
      if ((words[index] & mask) == mask) return index;
    }
  }
  return -1;
}

int64_t first_non_finite(const void* values, int64_t count, RawType type) {
  if (type.width == 2) return first_with_all(static_cast<const uint16_t*>(values), count, (uint16_t)type.exponent_mask);
  if (type.width == 4) return first_with_all(static_cast<const uint32_t*>(values), count, (uint32_t)type.exponent_mask);
  return first_with_all(static_cast<const uint64_t*>(values), count, type.exponent_mask);
}

bool write_bfloat16(const float* values, int64_t count, Writer& writer) {
  std::array<uint16_t, kBlockSize> block;
  for (int64_t first = 0; first < count; first += kBlockSize) {
    const int64_t size = std::min(kBlockSize, count - first);
    for (int64_t index = 0; index < size; ++index) {
      const uint32_t bits = bits_of(values[first + index]), magnitude = bits & kMagnitude;
      const uint32_t nearest = (magnitude + 0x7fffu + (magnitude >> 16 & 1)) >> 16;
      block[(size_t)index] = (uint16_t)((bits & kSign) >> 16 | std::min((int32_t)nearest, (int32_t)kLargestBfloat16));
    }
    if (!writer.append(block.data(), 2 * size)) return false;
  }
  return true;
}

Fault read_bfloat16(Reader& reader, int64_t count, float* values) {
  std::array<uint16_t, kBlockSize> block;
  for (int64_t first = 0; first < count; first += kBlockSize) {
    const int64_t size = std::min(kBlockSize, count - first);
    if (!reader.copy(block.data(), 2 * size)) return Fault::kEndsEarly;
    for (int64_t index = 0; index < size; ++index) values[first + index] = float_of((uint32_t)block[(size_t)index] << 16);
  }
  return first_non_finite(values, count, {4, kInfinity}) < 0 ? Fault::kNone : Fault::kNotFinite;
}

bool write_int8(const float* values, int64_t count, Writer& writer) {
  std::array<uint8_t, 1 + kBlockSize> block;
  for (int64_t first = 0; first < count; first += kBlockSize) {
    const int64_t size = std::min(kBlockSize, count - first);
    const int exponent = block_exponent(values + first, size);
    const Scaling scaled(kInt8Bits + kBias - exponent);
    block[0] = (uint8_t)exponent;
    for (int64_t index = 0; index < size; ++index) {
      const float steps = scaled(values[first + index]);
      const int32_t nearest = (int32_t)(bits_of(steps + kRounder) - bits_of(kRounder));
      block[(size_t)index + 1] = (uint8_t)std::clamp(nearest, -kLargestInt8, kLargestInt8);
    }
    if (!writer.append(block.data(), 1 + size)) return false;
  }
  return true;
}

Fault read_int8(Reader& reader, int64_t count, float* values) {
  std::array<uint8_t, kBlockSize> block;
  for (int64_t first = 0; first < count; first += kBlockSize) {
    const int64_t size = std::min(kBlockSize, count - first);
    uint8_t exponent = 0;
    if (!reader.copy(&exponent, 1) || !reader.copy(block.data(), size)) return Fault::kEndsEarly;
    if (exponent == 0 || exponent > kLargestExponent) return Fault::kScale;
    const float step = std::ldexp(1.0f, exponent - kBias - kInt8Bits);
    int lowest = 0;
    for (int64_t index = 0; index < size; ++index) {
      const int8_t steps = (int8_t)block[(size_t)index];
      lowest = std::min(lowest, (int)steps);
      values[first + index] = (float)steps * step;
    }
    if (lowest < -kLargestInt8) return Fault::kScale;
  }
  return Fault::kNone;
}

struct Levels {
  uint16_t low;
  uint16_t high;
};

// Means of the magnitudes up to their mean and above it, in steps, rounded down; `sum` is that of all.
Levels fitted_levels(const int32_t* steps, int64_t size, uint32_t sum) {
  const int32_t middle = (int32_t)(sum / (uint32_t)size);
  uint32_t high_sum = 0, high_count = 0;
  for (int64_t index = 0; index < size; ++index) {
    const uint32_t is_high = steps[index] > middle;
    high_count += is_high;
    high_sum += is_high ? (uint32_t)steps[index] : 0u;
  }
  const uint32_t low = (sum - high_sum) / ((uint32_t)size - high_count);
  return {(uint16_t)low, (uint16_t)(high_count == 0 ? low : high_sum / high_count)};
}

uint8_t code_of(float value, int32_t step, int32_t middle) { return (uint8_t)(bits_of(value) >> 31 << 1 | (step > middle)); }

#if defined(__AVX2__)

// The eight bits of a byte at every second place.
constexpr std::array<uint16_t, 256> make_spread() {
  std::array<uint16_t, 256> spread{};
  for (size_t byte = 0; byte < spread.size(); ++byte) {
    for (int bit = 0; bit < 8; ++bit) spread[byte] = (uint16_t)(spread[byte] | (byte >> bit & 1) << 2 * bit);
  }
  return spread;
}

constexpr std::array<uint16_t, 256> kSpread = make_spread();

// Codes of eight at a time; returns how many there were.
int64_t write_eights(const float* values, const int32_t* steps, int64_t size, int32_t middle, uint8_t* bytes) {
  int64_t index = 0;
  for (; index + 8 <= size; index += 8) {
    const __m256i here = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(steps + index));
    const int high = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(here, _mm256_set1_epi32(middle))));
    const int negative = _mm256_movemask_ps(_mm256_loadu_ps(values + index));
    const uint16_t eight = (uint16_t)(kSpread[(size_t)high] | kSpread[(size_t)negative] << 1);
    memcpy(bytes + index / 4, &eight, sizeof eight);
  }
  return index;
}

#else

int64_t write_eights(const float* values, const int32_t* steps, int64_t size, int32_t middle, uint8_t* bytes) {
  std::array<uint8_t, kBlockSize> codes;
  std::array<uint32_t, kBlockSize / 4> fours;
  const int64_t whole = size / 8 * 8;
  for (int64_t index = 0; index < whole; ++index) codes[(size_t)index] = code_of(values[index], steps[index], middle);
  memcpy(fours.data(), codes.data(), (size_t)whole);
  for (int64_t byte = 0; byte < whole / 4; ++byte) {
    const uint32_t four = fours[(size_t)byte];
    bytes[byte] = (uint8_t)(four | four >> 6 | four >> 12 | four >> 18);
  }
  return whole;
}

#endif

void write_codes(const float* values, const int32_t* steps, int64_t size, int32_t middle, uint8_t* bytes) {
  const int64_t whole = write_eights(values, steps, size, middle, bytes);
  std::fill(bytes + whole / 4, bytes + (size + 3) / 4, (uint8_t)0);
  for (int64_t index = whole; index < size; ++index) {
    bytes[index / 4] = (uint8_t)(bytes[index / 4] | code_of(values[index], steps[index], middle) << 2 * (index % 4));
  }
}

bool write_int2(const float* values, int64_t count, Writer& writer) {
  std::array<int32_t, kBlockSize> steps;
  std::array<uint8_t, 5 + kBlockSize / 4> block;
  for (int64_t first = 0; first < count; first += kBlockSize) {
    const int64_t size = std::min(kBlockSize, count - first);
    const int exponent = block_exponent(values + first, size);
    const Scaling scaled(kInt2Bits + kBias - exponent);
    uint32_t sum = 0;  // at most 2^26
    for (int64_t index = 0; index < size; ++index) {
      const int32_t step = (int32_t)scaled(std::fabs(values[first + index]));
      steps[(size_t)index] = step;
      sum += (uint32_t)step;
    }
    const Levels levels = fitted_levels(steps.data(), size, sum);
    write_codes(values + first, steps.data(), size, (levels.low + levels.high) / 2, block.data() + 5);
    block[0] = (uint8_t)exponent;
    memcpy(block.data() + 1, &levels.low, 2);
    memcpy(block.data() + 3, &levels.high, 2);
    if (!writer.append(block.data(), 5 + (size + 3) / 4)) return false;
  }
  return true;
}

Fault read_int2(Reader& reader, int64_t count, float* values) {
  std::array<uint8_t, kBlockSize / 4> block;
  std::array<uint32_t, kBlockSize / 4> fours{};
  std::array<uint8_t, kBlockSize> codes;
  for (int64_t first = 0; first < count; first += kBlockSize) {
    const int64_t size = std::min(kBlockSize, count - first), bytes = (size + 3) / 4;
    uint8_t exponent = 0;
    Levels levels{};
    if (!reader.copy(&exponent, 1) || !reader.copy(&levels.low, 2) || !reader.copy(&levels.high, 2)) {
      return Fault::kEndsEarly;
    }
    if (!reader.copy(block.data(), bytes)) return Fault::kEndsEarly;
    if (exponent == 0 || exponent > kLargestExponent) return Fault::kScale;
    const Scaling scaled(exponent - kBias - kInt2Bits);
    const uint32_t low = bits_of(scaled((float)levels.low)), high = bits_of(scaled((float)levels.high));
    for (int64_t byte = 0; byte < bytes; ++byte) {
      const uint32_t four = block[(size_t)byte];
      fours[(size_t)byte] = (four | four << 6 | four << 12 | four << 18) & 0x03030303u;
    }
    memcpy(codes.data(), fours.data(), codes.size());
    for (int64_t index = 0; index < size; ++index) {
      const uint32_t code = codes[(size_t)index];
      values[first + index] = float_of((code & 1 ? high : low) | code >> 1 << 31);
    }
  }
  return Fault::kNone;
}

Fault encode_values(const void* values, int64_t count, RawType type, ValueCode code, Writer& writer) {
  const float* floats = static_cast<const float*>(values);
  const auto as_fault = [](bool is_written) { return is_written ? Fault::kNone : Fault::kEndsEarly; };
  if (code == ValueCode::kBf16) return as_fault(write_bfloat16(floats, count, writer));
  if (code == ValueCode::kInt8) return as_fault(write_int8(floats, count, writer));
  if (code == ValueCode::kInt2) return as_fault(write_int2(floats, count, writer));
  return as_fault(writer.append(values, type.width * count));
}

Fault decode_values(Reader& reader, int64_t count, RawType type, ValueCode code, void* values) {
  float* floats = static_cast<float*>(values);
  if (code == ValueCode::kBf16) return read_bfloat16(reader, count, floats);
  if (code == ValueCode::kInt8) return read_int8(reader, count, floats);
  if (code == ValueCode::kInt2) return read_int2(reader, count, floats);
  if (!reader.copy(values, type.width * count)) return Fault::kEndsEarly;
  return first_non_finite(values, count, type) < 0 ? Fault::kNone : Fault::kNotFinite;
}

}  // namespace

extern const ValueCoder value_coder = {SPARSYNC_TEXT(SPARSYNC_SET), first_non_finite, encode_values, decode_values};

}  // namespace sparsync::SPARSYNC_SET
