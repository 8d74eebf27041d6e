// Values on the wire: as they are, as bfloat16, or in blocks with a scale in 8 or 2 bits each.
//
// Scales are powers of two, so that scaling, comparing and the difference v - Q(v) round nothing (codec_reference.py).
#include <algorithm>
#include <array>
#include <cmath>

#include "cpu/codec.h"

namespace sparsync {
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

// Means of the magnitudes up to their mean and above it, in steps, rounded down.
Levels fitted_levels(const uint16_t* steps, int64_t size) {
  uint32_t sum = 0;  // at most 2^26
  for (int64_t index = 0; index < size; ++index) sum += steps[index];
  const uint32_t middle = sum / (uint32_t)size;
  uint32_t high_sum = 0, high_count = 0;
  for (int64_t index = 0; index < size; ++index) {
    const uint32_t is_high = steps[index] > middle;
    high_count += is_high;
    high_sum += is_high ? steps[index] : 0u;
  }
  const uint32_t low = (sum - high_sum) / ((uint32_t)size - high_count);
  return {(uint16_t)low, (uint16_t)(high_count == 0 ? low : high_sum / high_count)};
}

bool write_int2(const float* values, int64_t count, Writer& writer) {
  std::array<uint16_t, kBlockSize> steps;
  std::array<uint8_t, kBlockSize> codes;
  std::array<uint8_t, 5 + kBlockSize / 4> block;
  for (int64_t first = 0; first < count; first += kBlockSize) {
    const int64_t size = std::min(kBlockSize, count - first);
    const int exponent = block_exponent(values + first, size);
    const Scaling scaled(kInt2Bits + kBias - exponent);
    for (int64_t index = 0; index < size; ++index) {
      steps[(size_t)index] = (uint16_t)(int32_t)scaled(std::fabs(values[first + index]));
    }
    const Levels levels = fitted_levels(steps.data(), size);
    const uint16_t middle = (uint16_t)((levels.low + levels.high) / 2);
    for (int64_t index = 0; index < size; ++index) {
      const uint32_t sign = bits_of(values[first + index]) >> 31;
      codes[(size_t)index] = (uint8_t)(sign << 1 | (steps[(size_t)index] > middle));
    }
    std::fill(codes.begin() + size, codes.begin() + (size + 3) / 4 * 4, (uint8_t)0);
    block[0] = (uint8_t)exponent;
    memcpy(block.data() + 1, &levels.low, 2);
    memcpy(block.data() + 3, &levels.high, 2);
    for (int64_t byte = 0; byte < (size + 3) / 4; ++byte) {
      uint32_t four;
      memcpy(&four, codes.data() + 4 * byte, 4);
      block[(size_t)byte + 5] = (uint8_t)(four | four >> 6 | four >> 12 | four >> 18);
    }
    if (!writer.append(block.data(), 5 + (size + 3) / 4)) return false;
  }
  return true;
}

Fault read_int2(Reader& reader, int64_t count, float* values) {
  std::array<uint8_t, kBlockSize / 4> block;
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
      const uint32_t spread = (four | four << 6 | four << 12 | four << 18) & 0x03030303u;
      memcpy(codes.data() + 4 * byte, &spread, 4);
    }
    for (int64_t index = 0; index < size; ++index) {
      const uint32_t code = codes[(size_t)index];
      values[first + index] = float_of((code & 1 ? high : low) | code >> 1 << 31);
    }
  }
  return Fault::kNone;
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

}  // namespace

int64_t first_non_finite(const void* values, int64_t count, RawType type) {
  if (type.width == 2) return first_with_all(static_cast<const uint16_t*>(values), count, (uint16_t)type.exponent_mask);
  if (type.width == 4) return first_with_all(static_cast<const uint32_t*>(values), count, (uint32_t)type.exponent_mask);
  return first_with_all(static_cast<const uint64_t*>(values), count, type.exponent_mask);
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

}  // namespace sparsync
