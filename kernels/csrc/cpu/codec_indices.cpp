// Positions on the wire: the gaps between them in Rice code, 12 bits each within chunks, or as they are.
#include <algorithm>
#include <array>
#include <vector>

#include "cpu/bit_packing.h"
#include "cpu/codec.h"

namespace sparsync {
namespace {

constexpr int64_t kUnaryBytes = kBlockSize * kUnaryBitsEach / 8;
constexpr int64_t kPackedBytes = kBlockSize * kPackedBits / 8;

int64_t groups_of(int64_t count) { return (count + kGroupSize - 1) / kGroupSize; }

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

constexpr OnesTable kOnes = make_ones();

// The sum of ceil(floor(gap / 2^b) / 2): what one bit more in every gap would save in the quotients.
int64_t saved_by_one_bit(const uint32_t* gaps, int64_t count, int parameter) {
  uint32_t sum = 0;
  for (int64_t index = 0; index < count; ++index) sum += ((gaps[index] >> parameter) + 1) >> 1;
  return (int64_t)sum;
}

// The smallest b that minimises count (1 + b) + sum of floor(gap / 2^b), which is convex in b.
int cheapest_parameter(const uint32_t* gaps, int64_t count, int64_t span) {
  const uint64_t scaled = (uint64_t)span * 177 / (uint64_t)(256 * count);  // ln 2 times the mean gap
  int parameter = scaled == 0 ? 0 : std::bit_width(scaled) - 1;
  while (parameter > 0 && saved_by_one_bit(gaps, count, parameter - 1) <= count) --parameter;
  while (saved_by_one_bit(gaps, count, parameter) > count) ++parameter;
  return parameter;
}

// Every quotient as so many zeros and a one; returns the bytes that are written.
int64_t write_unary(const uint32_t* gaps, int64_t count, int parameter, uint8_t* bytes) {
  uint64_t word = 0;
  uint64_t place = 0;
  int64_t written = 0;
  for (int64_t index = 0; index < count; ++index) {
    place += gaps[index] >> parameter;
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
  return written + bytes_for_bits((int64_t)place);
}

// The places of the first `count` ones; returns the bytes up to the last, or -1 if they do not hold exactly so many.
int64_t read_unary(const uint8_t* bytes, int64_t available, int64_t count, uint16_t* places) {
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

Fault encode_rice(const int32_t* indices, int64_t count, Writer& writer) {
  std::array<uint32_t, kBlockSize> gaps;
  std::array<uint8_t, 1 + kPackedBytes + kUnaryBytes + 16> block;
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

Fault decode_rice(Reader& reader, int64_t count, int64_t dimension, int32_t* indices) {
  std::array<uint32_t, kBlockSize> lows;
  std::array<uint32_t, kBlockSize * kPackedBits / 32> words;
  std::array<uint16_t, kBlockSize + 8> places;
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
    uint32_t index_value = (uint32_t)before + 1;
    for (int64_t index = 0; index < size; ++index) {
      index_value += lows[(size_t)index];
      const uint32_t quotient = (uint32_t)places[(size_t)index] - (uint32_t)index;
      indices[first + index] = (int32_t)(index_value + (uint32_t)index + (quotient << parameter));
    }
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
  std::array<uint32_t, kBlockSize * kPackedBits / 32> words{};
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

}  // namespace

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

}  // namespace sparsync
