// A program that runs one kernel of faults.cu; the tests compile it behind that file and a `copy_unguarded`.
#include <string>
#include <vector>

// A fault leaves threads in the middle of a small frame; threads with a large frame get their stacks next.
int run_after_fault(int* out) {
  char message[1024];
  if (report(message, [&] { launch(use_locals<8>, 4, 64, stream_t{}, out, 63); }) == 0) return 2;
  if (call_exited_lane(out, 4, 64, message) == 0) return 3;
  return report(message, [&] { launch(use_locals<400>, 4, 64, stream_t{}, out, 64); });
}

int main(int, char** arguments) {
  const std::string fault = arguments[1];
  std::vector<int> in(100, 1), out(100);
  std::vector<float> floats(40);
  if (fault == "none") {
    launch(copy_guarded, 4, 32, stream_t{}, in.data(), out.data(), 100);
    if (out != in) return 1;
  }
  if (fault == "bounds") launch(copy_unguarded, 4, 32, stream_t{}, in.data(), out.data(), 100);
  if (fault == "overflow") {
    in[9] = INT32_MAX;
    launch(add_integers, 2, 32, stream_t{}, in.data(), out.data());
  }
  if (fault == "shared") launch(read_shared, 1, 32, stream_t{}, out.data(), 32);
  if (fault == "alignment") launch(read_vector, 1, 32, stream_t{}, floats.data() + 1, floats.data());
  if (fault == "divergence" && run_after_fault(out.data()) != 0) return 1;
  puts("reached the end");
}
