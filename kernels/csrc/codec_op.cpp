// The torch side of the wire format: the ops `encode_` and `decode_`, their checks, and one call for each half of a body.
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>
#include <torch/headeronly/util/Exception.h>

#include "cpu/codec.h"
#include "cpu/instruction_set.h"

namespace sparsync {

#if defined(__x86_64__)
namespace avx2 {
extern const ValueCoder value_coder;
extern const IndexCoder index_coder;
}
#endif
namespace portable {
extern const ValueCoder value_coder;
extern const IndexCoder index_coder;
}

namespace {

// What AVX-512 has more is not used here.
bool has_avx2() { return instruction_set() != InstructionSet::kPortable; }

#if defined(__x86_64__)
const ValueCoder& value_coder() { return has_avx2() ? avx2::value_coder : portable::value_coder; }
const IndexCoder& index_coder() { return has_avx2() ? avx2::index_coder : portable::index_coder; }
#else
const ValueCoder& value_coder() { return portable::value_coder; }
const IndexCoder& index_coder() { return portable::index_coder; }
#endif


using torch::headeronly::ScalarType;
using torch::stable::Tensor;

RawType raw_type_of(const Tensor& values) {
  switch (values.scalar_type()) {
    case ScalarType::Half:
      return {2, 0x7c00};
    case ScalarType::BFloat16:
      return {2, 0x7f80};
    case ScalarType::Float:
      return {4, 0x7f800000};
    case ScalarType::Double:
      return {8, 0x7ff0000000000000};
    default:
      STD_TORCH_CHECK(false, "values must be float16, bfloat16, float32 or float64");
  }
}

void check_call(const Tensor& values, const Tensor& indices, const Tensor& body, int64_t dimension, int64_t value_code,
                int64_t index_code) {
  STD_TORCH_CHECK(values.dim() == 1 && indices.dim() == 1 && values.numel() == indices.numel(),
                  "values and indices must be vectors of one length");
  STD_TORCH_CHECK(values.is_contiguous() && indices.is_contiguous() && body.is_contiguous(), "a tensor is not contiguous");
  STD_TORCH_CHECK(indices.scalar_type() == ScalarType::Int, "indices must be int32");
  STD_TORCH_CHECK(body.dim() == 1 && body.scalar_type() == ScalarType::Byte, "the body must be a vector of uint8");
  STD_TORCH_CHECK(0 <= dimension && dimension <= (int64_t{1} << 31), "d must lie in [0, 2^31], got ", dimension);
  STD_TORCH_CHECK(values.numel() <= dimension, values.numel(), " entries do not fit a vector of length ", dimension);
  STD_TORCH_CHECK(0 <= value_code && value_code <= 4, "unknown value code ", value_code);
  STD_TORCH_CHECK(0 <= index_code && index_code <= 2, "unknown index code ", index_code);
  STD_TORCH_CHECK(value_code == 0 || values.scalar_type() == ScalarType::Float, "this value code wants float32");
}

Tensor report_of(const Tensor& like, Fault fault, int64_t where) {
  Tensor report = torch::stable::new_empty(like, {2}, ScalarType::Long);
  int64_t* row = static_cast<int64_t*>(report.data_ptr());
  row[0] = (int64_t)fault;
  row[1] = where;
  return report;
}

// Nothing is written unless all entries can be.
Tensor encode_cpu(Tensor values, Tensor indices, int64_t dimension, int64_t value_code, int64_t index_code, Tensor body) {
  check_call(values, indices, body, dimension, value_code, index_code);
  const RawType type = raw_type_of(values);
  const int64_t count = values.numel();
  const int32_t* positions = static_cast<const int32_t*>(indices.data_ptr());
  const int64_t bad_value = value_coder().first_non_finite(values.data_ptr(), count, type);
  if (bad_value >= 0) return report_of(values, Fault::kNotFinite, bad_value);
  const int64_t bad_index = index_coder().first_misplaced(positions, count, dimension);
  if (bad_index >= 0) return report_of(values, Fault::kIndices, bad_index);
  Writer writer{static_cast<uint8_t*>(body.data_ptr()), body.numel()};
  Fault fault = value_coder().encode(values.data_ptr(), count, type, static_cast<ValueCode>(value_code), writer);
  if (fault == Fault::kNone) {
    fault = index_coder().encode(positions, count, dimension, static_cast<IndexCode>(index_code), writer);
  }
  return report_of(values, fault, writer.position);
}

Tensor decode_cpu(Tensor body, int64_t dimension, int64_t value_code, int64_t index_code, Tensor values, Tensor indices) {
  check_call(values, indices, body, dimension, value_code, index_code);
  const int64_t count = values.numel();
  Reader reader{static_cast<const uint8_t*>(body.data_ptr()), body.numel()};
  Fault fault = value_coder().decode(reader, count, raw_type_of(values), static_cast<ValueCode>(value_code), values.data_ptr());
  if (fault == Fault::kNone) {
    int32_t* positions = static_cast<int32_t*>(indices.data_ptr());
    fault = index_coder().decode(reader, count, dimension, static_cast<IndexCode>(index_code), positions);
  }
  if (fault == Fault::kNone && reader.left() > 0) fault = Fault::kLeftOver;
  return report_of(values, fault, reader.position);
}

}  // namespace
}  // namespace sparsync

STABLE_TORCH_LIBRARY_FRAGMENT(sparsync, m) {
  m.def(
      "encode_(Tensor values, Tensor indices, int dimension, int value_code, int index_code, Tensor(a!) body) -> Tensor");
  m.def(
      "decode_(Tensor body, int dimension, int value_code, int index_code, Tensor(a!) values, Tensor(b!) indices) "
      "-> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(sparsync, CPU, m) {
  m.impl("encode_", TORCH_BOX(&sparsync::encode_cpu));
  m.impl("decode_", TORCH_BOX(&sparsync::decode_cpu));
}
