// The tile loops of cpu/loops.h for one instruction set: compiled with -mavx2, with -mavx512f and without either.
//
// 64 entries are added, compared and stored without a branch between them; only a block that holds a candidate (or
// something not finite, which compares as large) is looked at entry by entry.
#include "cpu/loops.h"

#include <algorithm>
#include <cstring>

#include "core.h"
#include "cpu/instruction_set.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace sparsync::SPARSYNC_SET {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif
constexpr int kLanes = kVectorBytes / 4;
constexpr int kBlock = 64;
constexpr int kVectors = kBlock / kLanes;

typedef float Floats __attribute__((vector_size(kVectorBytes)));
typedef int32_t Ints __attribute__((vector_size(kVectorBytes)));
typedef uint32_t Words __attribute__((vector_size(kVectorBytes)));
typedef uint16_t Halves __attribute__((vector_size(kVectorBytes / 2)));

template <class Vector>
inline Vector load(const void* source) {
  Vector vector;
  memcpy(&vector, source, sizeof(vector));
  return vector;
}

inline void store(float* target, Floats vector) { memcpy(target, &vector, sizeof(vector)); }

struct Float32 {
  using Storage = float;
  static Floats widen(const Storage* source) { return load<Floats>(source); }
};

struct Bfloat16 {
  using Storage = uint16_t;
  static Floats widen(const Storage* source) {
    const Words words = __builtin_convertvector(load<Halves>(source), Words) << 16;
    return load<Floats>(&words);
  }
};

struct Float16 {
  using Storage = uint16_t;
  // The exponent is re-biased by an exact multiplication, which also normalises subnormals; all ones stay all ones.
  static Floats widen(const Storage* source) {
    const Words words = __builtin_convertvector(load<Halves>(source), Words);
    const Words shifted = (words & 0x7fffu) << 13;
    const Floats scaled = load<Floats>(&shifted) * 0x1p112f;
    const Words special = (Words)((words & 0x7c00u) == 0x7c00u) & kInfinityBits;
    const Words result = load<Words>(&scaled) | special | (words & 0x8000u) << 16;
    return load<Floats>(&result);
  }
};

inline Ints magnitudes(Floats values) { return load<Ints>(&values) & (int32_t)kMagnitudeMask; }

inline bool any(Ints mask) {
#if defined(__AVX512F__)
  return _mm512_test_epi32_mask((__m512i)mask, (__m512i)mask) != 0;
#elif defined(__AVX2__)
  return !_mm256_testz_si256((__m256i)mask, (__m256i)mask);
#else
  uint64_t words[kVectorBytes / 8];
  memcpy(words, &mask, sizeof(words));
  uint64_t joined = 0;
  for (uint64_t word : words) joined |= word;
  return joined != 0;
#endif
}

// A bit for each lane whose mask is set.
inline uint64_t lane_bits(Ints mask) {
#if defined(__AVX512F__)
  return _mm512_test_epi32_mask((__m512i)mask, (__m512i)mask);
#elif defined(__AVX2__)
  return (uint32_t)_mm256_movemask_ps((__m256)mask);
#else
  uint64_t bits = 0;
  for (int lane = 0; lane < kLanes; ++lane) bits |= (uint64_t)(mask[lane] & 1) << lane;
  return bits;
#endif
}

// Where the candidates of a tile go.
struct Sink {
  Entry* out;
  uint32_t first_index;
  uint32_t bound;
  int64_t count = 0;
  int64_t first_non_finite = -1;

  void offer(int64_t offset, float value) {
    const uint32_t bits = magnitude(value);
    if (bits >= bound && bits < kInfinityBits) out[count++] = {first_index + (uint32_t)offset, value};
  }

  // Lists the entries of a finite block whose bits are set. Most blocks have few: the first four places are written
  // without asking how many there are, which costs less than a branch that is foreseen half of the time.
  void take(uint64_t bits, int64_t offset, const float* block) {
    const int64_t found = __builtin_popcountll(bits);
    Entry* place = out + count;
    count += found;
#pragma GCC unroll 4
    for (int step = 0; step < kListSlack; ++step, bits &= bits - 1) {
      const int lane = __builtin_ctzll(bits | uint64_t{1} << 63);
      *place++ = {first_index + (uint32_t)(offset + lane), block[lane]};
    }
    for (; bits != 0; bits &= bits - 1) {
      const int lane = __builtin_ctzll(bits);
      *place++ = {first_index + (uint32_t)(offset + lane), block[lane]};
    }
  }
};

// The block again, entry by entry: a sum that is not finite is not stored.
template <class Gradient>
[[gnu::noinline]] void add_entries(const typename Gradient::Storage* gradient, float* residual, int64_t offset,
                                   Sink& sink) {
  float sums[kBlock];
  for (int part = 0; part < kVectors; ++part) {
    store(sums + part * kLanes, load<Floats>(residual + part * kLanes) + Gradient::widen(gradient + part * kLanes));
  }
  for (int lane = 0; lane < kBlock; ++lane) {
    if (magnitude(sums[lane]) < kInfinityBits) {
      residual[lane] = sums[lane];
    } else if (sink.first_non_finite < 0) {
      sink.first_non_finite = offset + lane;
    }
    sink.offer(offset + lane, residual[lane]);
  }
}

template <class Gradient>
inline void add_block(const typename Gradient::Storage* gradient, float* residual, int64_t offset, Sink& sink) {
  const int32_t bound = (int32_t)sink.bound;
  Floats sums[kVectors];
  Ints hits[kVectors];
  Ints joined{};
#pragma GCC unroll 16
  for (int part = 0; part < kVectors; ++part) {
    sums[part] = load<Floats>(residual + part * kLanes) + Gradient::widen(gradient + part * kLanes);
    hits[part] = magnitudes(sums[part]) >= bound;
    joined |= hits[part];
  }
  if (!any(joined)) [[likely]] {
#pragma GCC unroll 16
    for (int part = 0; part < kVectors; ++part) store(residual + part * kLanes, sums[part]);
    return;
  }
  uint64_t bits = 0;
  Ints infinite{};
#pragma GCC unroll 16
  for (int part = 0; part < kVectors; ++part) {
    bits |= lane_bits(hits[part]) << (part * kLanes);
    infinite |= magnitudes(sums[part]) >= (int32_t)kInfinityBits;
  }
  if (any(infinite)) [[unlikely]] return add_entries<Gradient>(gradient, residual, offset, sink);
#pragma GCC unroll 16
  for (int part = 0; part < kVectors; ++part) store(residual + part * kLanes, sums[part]);
  sink.take(bits, offset, residual);
}

template <class Gradient>
Listed add_and_list_as(const void* untyped, float* residual, int64_t length, uint32_t bound, uint32_t first_index,
                       Entry* out) {
  using Storage = typename Gradient::Storage;
  const Storage* gradient = static_cast<const Storage*>(untyped);
  Sink sink{out, first_index, bound};
  int64_t offset = 0;
  for (; offset + kBlock <= length; offset += kBlock) {
    add_block<Gradient>(gradient + offset, residual + offset, offset, sink);
  }
  if (offset < length) {  // a block of its own, filled up with zeros, which are below every bound
    Storage last_gradient[kBlock] = {};
    float last_residual[kBlock] = {};
    const size_t rest = (size_t)(length - offset);
    memcpy(last_gradient, gradient + offset, rest * sizeof(Storage));
    memcpy(last_residual, residual + offset, rest * sizeof(float));
    add_block<Gradient>(last_gradient, last_residual, offset, sink);
    memcpy(residual + offset, last_residual, rest * sizeof(float));
  }
  return {sink.count, sink.first_non_finite};
}

Listed add_and_list(GradientType type, const void* gradient, float* residual, int64_t length, uint32_t bound,
                    uint32_t first_index, Entry* out) {
  switch (type) {
    case GradientType::kFloat32:
      return add_and_list_as<Float32>(gradient, residual, length, bound, first_index, out);
    case GradientType::kBfloat16:
      return add_and_list_as<Bfloat16>(gradient, residual, length, bound, first_index, out);
    default:
      return add_and_list_as<Float16>(gradient, residual, length, bound, first_index, out);
  }
}

int64_t list(const float* vector, int64_t length, uint32_t bound, uint32_t first_index, Entry* out) {
  Sink sink{out, first_index, bound};
  int64_t offset = 0;
  for (; offset + kBlock <= length; offset += kBlock) {
    const float* const block = vector + offset;
    Ints hits[kVectors];
    Ints joined{};
#pragma GCC unroll 16
    for (int part = 0; part < kVectors; ++part) {
      const Ints bits = magnitudes(load<Floats>(block + part * kLanes));
      hits[part] = (bits >= (int32_t)bound) & (bits < (int32_t)kInfinityBits);
      joined |= hits[part];
    }
    if (!any(joined)) continue;
    uint64_t bits = 0;
#pragma GCC unroll 16
    for (int part = 0; part < kVectors; ++part) bits |= lane_bits(hits[part]) << (part * kLanes);
    sink.take(bits, offset, block);
  }
  for (; offset < length; ++offset) sink.offer(offset, vector[offset]);
  return sink.count;
}

void count(const float* vector, int64_t length, const uint32_t* bounds, int64_t* counts) {
  Ints totals[kLadderSize] = {};
  int64_t offset = 0;
  for (; offset + kLanes <= length; offset += kLanes) {
    const Ints bits = magnitudes(load<Floats>(vector + offset));
    const Ints finite = bits < (int32_t)kInfinityBits;
#pragma GCC unroll 6
    for (int step = 0; step < kLadderSize; ++step) totals[step] -= (bits >= (int32_t)bounds[step]) & finite;
  }
  for (int step = 0; step < kLadderSize; ++step) {
    for (int lane = 0; lane < kLanes; ++lane) counts[step] += totals[step][lane];
    for (int64_t rest = offset; rest < length; ++rest) {
      const uint32_t bits = magnitude(vector[rest]);
      counts[step] += bits >= bounds[step] && bits < kInfinityBits;
    }
  }
}

void fold(const float* vector, int64_t length, int64_t width, uint32_t* maxima) {
  for (; length > 0; vector += width, length -= width) {
    int64_t column = 0;
    for (; column + kLanes <= std::min(length, width); column += kLanes) {
      const Ints bits = magnitudes(load<Floats>(vector + column));
      const Ints ranked = bits & (bits < (int32_t)kInfinityBits);
      const Ints before = load<Ints>(maxima + column);
      const Ints larger = ranked > before ? ranked : before;
      memcpy(maxima + column, &larger, sizeof(larger));
    }
    for (; column < std::min(length, width); ++column) {
      maxima[column] = std::max(maxima[column], ranked_magnitude(vector[column]));
    }
  }
}

// Sums kTileSize / 2 numbers, overwriting them.
inline double pairwise_sum(double* numbers) {
  for (int64_t half = kTileSize / 4; half >= 1; half /= 2) {
    for (int64_t pair = 0; pair < half; ++pair) numbers[pair] = numbers[2 * pair] + numbers[2 * pair + 1];
  }
  return numbers[0];
}

Moments moments(const float* vector, int64_t length) {
  float finite[kTileSize];
  double pairs[kTileSize / 2];
  for (int64_t index = 0; index < length; ++index) {
    finite[index] = magnitude(vector[index]) < kInfinityBits ? vector[index] : 0.0f;
  }
  memset(finite + length, 0, (size_t)(kTileSize - length) * sizeof(float));
  for (int64_t pair = 0; pair < kTileSize / 2; ++pair) {
    pairs[pair] = (double)finite[2 * pair] + (double)finite[2 * pair + 1];
  }
  const double mean = pairwise_sum(pairs) / (double)length;
  for (int64_t pair = 0; pair < kTileSize / 2; ++pair) {
    const double even = (double)finite[2 * pair] - mean, odd = (double)finite[2 * pair + 1] - mean;
    pairs[pair] = (2 * pair < length ? even * even : 0.0) + (2 * pair + 1 < length ? odd * odd : 0.0);
  }
  return {(double)length, mean, pairwise_sum(pairs)};
}

// Those that fewer than `rank` exceed: the smallest of them is it. Among them are the zeros behind the list only where
// there are too few others, and so it is zero.
Ranked rank(const uint32_t* magnitudes, int64_t count, int64_t rank) {
  Ints least = Ints{} + INT32_MAX, most_above{};
  for (int64_t first = 0; first < count; first += kLanes) {
    const Ints own = load<Ints>(magnitudes + first);
    Ints above{};
    for (int64_t other = 0; other < count; ++other) above -= own < (int32_t)magnitudes[other];
    const Ints is_among = above < (int32_t)rank;
    const Ints among = is_among ? own : least;
    least = among < least ? among : least;
    const Ints above_among = above & is_among;
    most_above = above_among > most_above ? above_among : most_above;
  }
  Ranked result{(uint32_t)least[0], most_above[0]};
  for (int lane = 1; lane < kLanes; ++lane) {
    result.bits = std::min(result.bits, (uint32_t)least[lane]);
    result.above_count = std::max<int64_t>(result.above_count, most_above[lane]);
  }
  return result;
}

}  // namespace

extern const Loops table = {SPARSYNC_TEXT(SPARSYNC_SET), add_and_list, list, count, fold, moments, rank};

}  // namespace sparsync::SPARSYNC_SET
