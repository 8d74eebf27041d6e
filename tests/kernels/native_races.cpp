// One call of the CPU kernel, without torch and Python: read from standard input, its results written to standard output.
//
// In: threads, rule, pieces, groups; the length of each piece; k, capacity, parameter and memory of each group; gradient
// and residual of each piece. Out: residuals, values, indices, report, memory. The layout is that of tests/kernels/test_native_races.py.
#include <torch/csrc/stable/ops.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "cpu/loops.h"
#include "cpu/select.h"

namespace sparsync {

namespace portable {
extern const Loops table;
}

const Loops& loops() { return portable::table; }

}  // namespace sparsync

namespace {

template <class Number>
std::vector<Number> read(size_t count) {
  std::vector<Number> numbers(count);
  if (std::fread(numbers.data(), sizeof(Number), count, stdin) != count) std::exit(2);
  return numbers;
}

template <class Number>
void write(const std::vector<Number>& numbers) {
  std::fwrite(numbers.data(), sizeof(Number), numbers.size(), stdout);
}

}  // namespace

int main() {
  const std::vector<int64_t> header = read<int64_t>(4);
  torch::stable::thread_count = header[0];
  const size_t piece_count = (size_t)header[2], group_count = (size_t)header[3];
  const std::vector<int64_t> lengths = read<int64_t>(piece_count);
  const std::vector<int64_t> counts = read<int64_t>(group_count), capacities = read<int64_t>(group_count);
  const std::vector<double> parameters = read<double>(group_count);
  std::vector<int32_t> memory = read<int32_t>(group_count * sparsync::kMemoryColumns);

  sparsync::Request request{};
  request.rule = (sparsync::Rule)header[1];
  std::vector<std::vector<float>> gradients, residuals;
  for (const int64_t length : lengths) {
    gradients.push_back(read<float>((size_t)length));
    residuals.push_back(read<float>((size_t)length));
    request.pieces.push_back({gradients.back().data(), residuals.back().data(), length, 0});
  }
  int64_t output_size = 0;
  for (size_t index = 0; index < group_count; ++index) {
    const int64_t members = group_count == piece_count ? 1 : (int64_t)piece_count;
    sparsync::Group group{(int64_t)index, members, 0, counts[index], capacities[index], output_size, parameters[index]};
    for (int64_t piece = group.first_piece; piece < group.first_piece + members; ++piece) {
      request.pieces[(size_t)piece].group_offset = group.dimension;
      group.dimension += lengths[(size_t)piece];
    }
    output_size += group.capacity;
    request.groups.push_back(group);
  }
  std::vector<float> values((size_t)output_size);
  std::vector<int32_t> indices((size_t)output_size), report(group_count * sparsync::kReportColumns);
  request.values = values.data();
  request.indices = indices.data();
  request.report = report.data();
  request.memory = memory.data();
  sparsync::select_on_cpu(request);

  for (const std::vector<float>& residual : residuals) write(residual);
  write(values);
  write(indices);
  write(report);
  write(memory);
}
