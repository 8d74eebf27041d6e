// Positions on the wire: the gaps between them in Rice code, 12 bits each within chunks, or as they are.
#include <algorithm>
#include <array>
#include <vector>

#include "cpu/bit_packing.h"
#include "cpu/codec.h"
#include "cpu/unary.h"

namespace sparsync::SPARSYNC_SET {
namespace {

constexpr int64_t kUnaryBytes = kBlockSize * kUnaryBitsEach / 8;
constexpr int64_t kPackedBytes = kBlockSize * kPackedBits / 8;

int64_t groups_of(int64_t count) { return (count + kGroupSize - 1) / kGroupSize; }

int64_t first_misplaced(const int32_t* indices, int64_t count, int64_t dimension) {
  if (count == 0) return -1;
  int falls = indices[0] < 0;
  for (int64_t index = 1; index < count; ++index) falls |= indices[index] <= indices[index - 1];
  if (!falls && (int64_t)indices[count - 1] < dimension) return -1;
  int64_t before = -1;
  for (int64_t index = 0; index < count; ++index) {
    if (indices[index] <= before || (int64_t)indices[index] >= dimension) return index;
    before = indices[index];
  }
  return -1;
}

// The sums of ceil(floor(gap / 2^b) / 2), what one bit more in every gap would save in the quotients, for b and b - 1.
struct Saved {
  uint32_t here;
  uint32_t before;
};

Saved saved_by_one_bit(const uint32_t* gaps, int64_t count, int parameter) {
  Saved sums{};
  for (int64_t index = 0; index < count; ++index) {
    const uint32_t doubled = gaps[index] << 1 >> parameter;
    sums.before += (doubled + 1) >> 1;
    sums.here += ((doubled >> 1) + 1) >> 1;
  }
  return sums;
}

// The smallest b that minimises count (1 + b) + sum of floor(gap / 2^b), which is convex in b.
int cheapest_parameter(const uint32_t* gaps, int64_t count, int64_t span) {
  const uint64_t scaled = (uint64_t)span * 177 / (uint64_t)(256 * count);  // ln 2 times the mean gap
  int parameter = scaled == 0 ? 0 : std::bit_width(scaled) - 1;
  Saved saved = saved_by_one_bit(gaps, count, parameter);
  while (saved.here > count) saved = saved_by_one_bit(gaps, count, ++parameter);
  while (parameter > 0 && saved.before <= count) saved = saved_by_one_bit(gaps, count, --parameter);
  return parameter;
}

Fault encode_rice(const int32_t* indices, int64_t count, Writer& writer) {
  std::array<uint32_t, kBlockSize> gaps;
  std::array<uint8_t, 1 + kPackedBytes + kUnaryBytes + kUnarySlack> block;
  std::array<uint32_t, kBlockSize * kPackedBits / 32> words;
  int64_t before = -1;
  for (int64_t first = 0; first < count; first += kBlockSize) {
    const int64_t size = std::min(kBlockSize, count - first), padded = groups_of(size) * kGroupSize;
    const int32_t* here = indices + first;
    gaps[0] = (uint32_t)(here[0] - before - 1);
    for (int64_t index = 1; index < size; ++index) gaps[(size_t)index] = (uint32_t)(here[index] - here[index - 1] - 1);
    std::fill(gaps.begin() + size, gaps.begin() + padded, 0u);
    const int64_t span = here[size - 1] - before - size;
    before = here[size - 1];
    const int parameter = cheapest_parameter(gaps.data(), size, span);
    kPack[(size_t)parameter](gaps.data(), groups_of(size), words.data());
    block[0] = (uint8_t)parameter;
    const int64_t packed = bytes_for_bits(size * parameter);
    memcpy(block.data() + 1, words.data(), (size_t)packed);
    const int64_t unary = write_unary(gaps.data(), size, parameter, block.data() + 1 + packed);
    if (!writer.append(block.data(), 1 + packed + unary)) return Fault::kEndsEarly;
  }
  return Fault::kNone;
}

#if defined(__AVX2__)

// In each lane the sum of it and those before it.
Eight running_sums(Eight vector) {
  vector += (Eight)_mm256_slli_si256((__m256i)vector, 4);
  vector += (Eight)_mm256_slli_si256((__m256i)vector, 8);
  // So far each half has sums of its own: the last of the low half belongs to all of the high one.
  const __m256i low_half_above = _mm256_permute2x128_si256((__m256i)vector, (__m256i)vector, 0x08);
  return vector + (Eight)_mm256_shuffle_epi32(low_half_above, 0xff);
}

#endif

// Indices from the low bits of their gaps and the places of the ones that end their quotients.
void add_up(const uint32_t* lows, const uint16_t* places, int64_t size, int parameter, uint32_t start, int32_t* indices) {
  uint32_t sum = start;
  int64_t index = 0;
#if defined(__AVX2__)
  const Eight last = Eight{} + 7;
  Eight before = Eight{} + start, numbers = {0, 1, 2, 3, 4, 5, 6, 7};
  for (; index + 8 <= size; index += 8, numbers += 8) {
    Eight own;
    __m128i here;
    memcpy(&own, lows + index, sizeof own);
    memcpy(&here, places + index, sizeof here);
    const Eight sums = before + running_sums(own);
    const Eight found = sums + numbers + (((Eight)_mm256_cvtepu16_epi32(here) - numbers) << parameter);
    memcpy(indices + index, &found, sizeof found);
    before = lanes_of(sums, last);
  }
  sum = before[0];
#endif
  for (; index < size; ++index) {
    sum += lows[index];
    indices[index] = (int32_t)(sum + (uint32_t)index + ((uint32_t)(places[index] - index) << parameter));
  }
}

Fault decode_rice(Reader& reader, int64_t count, int64_t dimension, int32_t* indices) {
  std::array<uint32_t, kBlockSize> lows;
  std::array<uint32_t, kBlockSize * kPackedBits / 32 + kPackedSlack> words;
  std::array<uint16_t, kBlockSize + kUnarySlack> places;
  int64_t before = -1;
  for (int64_t first = 0; first < count; first += kBlockSize) {
    const int64_t size = std::min(kBlockSize, count - first);
    uint8_t parameter = 0;
    if (!reader.copy(&parameter, 1)) return Fault::kEndsEarly;
    if (parameter > kLargestParameter) return Fault::kParameter;
    const int64_t packed = bytes_for_bits(size * parameter);
    // The last bytes of a short block are not all of a word.
    std::fill_n(words.begin() + packed / 4, std::min<int64_t>(32, (int64_t)words.size() - packed / 4), 0u);
    if (!reader.copy(words.data(), packed)) return Fault::kEndsEarly;
    kUnpack[parameter](words.data(), groups_of(size), lows.data());
    const int64_t most = std::min(reader.left(), bytes_for_bits(size * kUnaryBitsEach));
    const int64_t unary = read_unary(reader.bytes + reader.position, most, size, places.data());
    if (unary < 0) return Fault::kUnary;
    reader.position += unary;
    uint64_t sum = 0;
    for (int64_t index = 0; index < size; ++index) sum += lows[(size_t)index];
    const uint64_t quotients = (uint64_t)(places[(size_t)size - 1] - (size - 1));
    const uint64_t last = (uint64_t)(before + size) + (quotients << parameter) + sum;
    if (last >= (uint64_t)dimension) return Fault::kIndices;
    // Below 2^31 at the end, so that no sum on the way wraps to another number.
    add_up(lows.data(), places.data(), size, parameter, (uint32_t)before + 1, indices + first);
    before = (int64_t)last;
  }
  return Fault::kNone;
}

int64_t chunks_of(int64_t dimension) { return (dimension + (1 << kChunkBits) - 1) >> kChunkBits; }

// Blocks of numbers of `bits` bits each; `next(first, size, numbers)` fills or takes them.
template <class Next>
bool write_packed(Writer& writer, int64_t count, int bits, const Next& next) {
  std::array<uint32_t, kBlockSize> numbers;
  std::array<uint32_t, kBlockSize * kPackedBits / 32> words;
  for (int64_t first = 0; first < count; first += kBlockSize) {
    const int64_t size = std::min(kBlockSize, count - first);
    next(first, size, numbers.data());
    std::fill(numbers.begin() + size, numbers.begin() + groups_of(size) * kGroupSize, 0u);
    kPack[(size_t)bits](numbers.data(), groups_of(size), words.data());
    if (!writer.append(words.data(), bytes_for_bits(size * bits))) return false;
  }
  return true;
}

template <class Next>
Fault read_packed(Reader& reader, int64_t count, int bits, const Next& next) {
  std::array<uint32_t, kBlockSize> numbers;
  std::array<uint32_t, kBlockSize * kPackedBits / 32 + kPackedSlack> words{};
  for (int64_t first = 0; first < count; first += kBlockSize) {
    const int64_t size = std::min(kBlockSize, count - first);
    if (!reader.copy(words.data(), bytes_for_bits(size * bits))) return Fault::kEndsEarly;
    kUnpack[(size_t)bits](words.data(), groups_of(size), numbers.data());
    const Fault fault = next(first, size, numbers.data());
    if (fault != Fault::kNone) return fault;
  }
  return Fault::kNone;
}

Fault encode_int12(const int32_t* indices, int64_t count, int64_t dimension, Writer& writer) {
  if (count == 0) return Fault::kNone;
  std::vector<uint16_t> counts((size_t)chunks_of(dimension));
  for (int64_t index = 0; index < count; ++index) ++counts[(size_t)(indices[index] >> kChunkBits)];
  const auto [fewest, most] = std::minmax_element(counts.begin(), counts.end());
  const uint16_t least = *fewest;
  const uint8_t bits = (uint8_t)std::bit_width((unsigned)(*most - least));
  const bool is_written =
      writer.append(&least, 2) && writer.append(&bits, 1) &&
      write_packed(writer, (int64_t)counts.size(), bits, [&](int64_t first, int64_t size, uint32_t* numbers) {
        for (int64_t index = 0; index < size; ++index) numbers[index] = counts[(size_t)(first + index)] - least;
      }) &&
      write_packed(writer, count, kChunkBits, [&](int64_t first, int64_t size, uint32_t* numbers) {
        for (int64_t index = 0; index < size; ++index) numbers[index] = (uint32_t)indices[first + index];
      });
  return is_written ? Fault::kNone : Fault::kEndsEarly;
}

// The counts come before the positions: the chunk of an entry is put in its place first, then the rest of its bits.
Fault decode_int12(Reader& reader, int64_t count, int64_t dimension, int32_t* indices) {
  if (count == 0) return Fault::kNone;
  uint16_t least = 0;
  uint8_t bits = 0;
  if (!reader.copy(&least, 2) || !reader.copy(&bits, 1)) return Fault::kEndsEarly;
  const int64_t chunk_count = chunks_of(dimension);
  if (bits > kChunkBits + 1 || least > (1 << kChunkBits)) return Fault::kParameter;
  // So that the loop over chunks is no longer than the bytes or the entries: without bits every chunk has `least`.
  if (bits == 0 && least * chunk_count != count) return Fault::kCounts;
  int64_t filled = 0;
  const Fault fault = read_packed(reader, chunk_count, bits, [&](int64_t first, int64_t size, const uint32_t* numbers) {
    for (int64_t index = 0; index < size; ++index) {
      const int64_t here = (int64_t)least + numbers[index];
      if (here > count - filled) return Fault::kCounts;
      std::fill_n(indices + filled, here, (int32_t)((first + index) << kChunkBits));
      filled += here;
    }
    return Fault::kNone;
  });
  if (fault != Fault::kNone) return fault;
  if (filled != count) return Fault::kCounts;
  const Fault read = read_packed(reader, count, kChunkBits, [&](int64_t first, int64_t size, const uint32_t* numbers) {
    for (int64_t index = 0; index < size; ++index) indices[first + index] |= (int32_t)numbers[index];
    return Fault::kNone;
  });
  if (read != Fault::kNone) return read;
  return first_misplaced(indices, count, dimension) < 0 ? Fault::kNone : Fault::kIndices;
}

Fault encode_indices(const int32_t* indices, int64_t count, int64_t dimension, IndexCode code, Writer& writer) {
  if (code == IndexCode::kRice) return encode_rice(indices, count, writer);
  if (code == IndexCode::kInt12) return encode_int12(indices, count, dimension, writer);
  return writer.append(indices, 4 * count) ? Fault::kNone : Fault::kEndsEarly;
}

Fault decode_indices(Reader& reader, int64_t count, int64_t dimension, IndexCode code, int32_t* indices) {
  if (code == IndexCode::kRice) return decode_rice(reader, count, dimension, indices);
  if (code == IndexCode::kInt12) return decode_int12(reader, count, dimension, indices);
  if (!reader.copy(indices, 4 * count)) return Fault::kEndsEarly;
  return first_misplaced(indices, count, dimension) < 0 ? Fault::kNone : Fault::kIndices;
}

}  // namespace

extern const IndexCoder index_coder = {SPARSYNC_TEXT(SPARSYNC_SET), first_misplaced, encode_indices, decode_indices};

}  // namespace sparsync::SPARSYNC_SET
