// A recording, for what a CUDA graph is: work that is put on a stream is written down instead of done, and then done
// as often as it is replayed.
//
// As in a graph, launches and their arguments are those of the recording: values were copied then, while what pointers
// point to is read when the work is replayed, and has to be there. The controls at the end are exported.
#pragma once

#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace sparsync::emulation {

// The bytes of a value, as 16 hexadecimal digits: what differs between two recordings can be seen, not what it is.
template <class Value>
std::string fingerprint(const Value& value) {
  const std::string_view bytes(reinterpret_cast<const char*>(&value), sizeof(value));
  char digits[17];
  snprintf(digits, sizeof(digits), "%016zx", std::hash<std::string_view>{}(bytes));
  return digits;
}

// "name, 8 blocks of 256 threads, arguments 0123456789abcdef fedcba9876543210".
template <class... Parameters>
std::string describe(const std::string& name, int64_t grid, int block, const std::tuple<Parameters...>& arguments) {
  std::ostringstream text;
  text << name << ", " << grid << " blocks of " << block << " threads, arguments";
  std::apply([&](const auto&... argument) { ((text << ' ' << fingerprint(argument)), ...); }, arguments);
  return text.str();
}

class Recording {
 public:
  void begin() {
    works_.clear();
    is_open_ = true;
  }

  void end() { is_open_ = false; }

  bool is_open() const { return is_open_; }

  // Does the work, or writes it down with its description while the recording is open.
  template <class Description, class Work>
  void perform(const Description& description, Work work) {
    if (is_open_) {
      works_.push_back({description(), std::move(work)});
    } else {
      work();
    }
  }

  // Throws what the work throws; what comes after that is left undone.
  void replay() const {
    for (const Entry& entry : works_) entry.work();
  }

  // One line for each piece of work, in order.
  std::string text() const {
    std::string lines;
    for (const Entry& entry : works_) lines += entry.description + "\n";
    return lines;
  }

 private:
  struct Entry {
    std::string description;
    std::function<void()> work;
  };
  bool is_open_ = false;
  std::vector<Entry> works_;
};
inline Recording recording;

}  // namespace sparsync::emulation

#define SPARSYNC_CONTROL extern "C" __attribute__((used, visibility("default"))) inline

// Forgets what was recorded before; until the end nothing is done.
SPARSYNC_CONTROL void sparsync_emulation_begin_recording() { sparsync::emulation::recording.begin(); }
SPARSYNC_CONTROL void sparsync_emulation_end_recording() { sparsync::emulation::recording.end(); }

// What was recorded, valid until the next question.
SPARSYNC_CONTROL const char* sparsync_emulation_recorded() {
  static std::string text;
  text = sparsync::emulation::recording.text();
  return text.c_str();
}

// Returns 0, or 1 with what was thrown in `message`, of 1024 bytes.
SPARSYNC_CONTROL int sparsync_emulation_replay(char* message) {
  try {
    sparsync::emulation::recording.replay();
    return 0;
  } catch (const std::exception& error) {
    snprintf(message, 1024, "%s", error.what());
    return 1;
  }
}

#undef SPARSYNC_CONTROL
