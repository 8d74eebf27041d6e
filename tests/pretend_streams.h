// Streams, events and graphs of the pretend GPU: work runs later, in another thread, in the order of its stream alone.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace pretend {

using Work = std::function<void()>;
using Clock = std::chrono::steady_clock;

struct Graph {
  uint64_t capture;  // its number, from one
  std::vector<Work> nodes{};
  bool is_broken = false;  // by a call that may not be made meanwhile

  void run() const {
    for (const Work& node : nodes) node();
  }
};

// A count that only grows, which threads wait for.
class Progress {
 public:
  void reach(uint64_t count) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (count > count_) count_ = count;
    reached_.notify_all();
  }
  void wait(uint64_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    reached_.wait(lock, [&] { return count_ >= count; });
  }
  bool has(uint64_t count) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return count_ >= count;
  }

 private:
  std::mutex mutex_;
  std::condition_variable reached_;
  uint64_t count_ = 0;
};

// Never destroyed, for its thread waits for work until the process ends. A random pause before each piece of work lets
// streams pass each other, and the host pass them.
class Stream {
 public:
  explicit Stream(int priority = 0, unsigned seed = 0) : priority(priority), random_(seed) {
    std::thread([this] { run(); }).detach();
  }

  // Work of a stream that is captured becomes a node of its graph.
  void put(Work work) {
    if (graph != nullptr) {
      graph->nodes.push_back(std::move(work));
      return;
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.push_back(std::move(work));
    ++put_;
    added_.notify_one();
  }

  void wait() { done_.wait(count()); }
  bool is_idle() { return done_.has(count()); }

  const int priority;
  Graph* graph = nullptr;  // while it is captured

 private:
  uint64_t count() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return put_;
  }

  Work next() {
    std::unique_lock<std::mutex> lock(mutex_);
    added_.wait(lock, [&] { return !waiting_.empty(); });
    Work work = std::move(waiting_.front());
    waiting_.pop_front();
    return work;
  }

  void run() {
    for (uint64_t done = 1;; ++done) {
      const Work work = next();
      std::this_thread::sleep_for(std::chrono::microseconds(random_() % 300));
      work();
      done_.reach(done);
    }
  }

  std::mt19937 random_;
  std::mutex mutex_;
  std::condition_variable added_;
  std::deque<Work> waiting_;
  uint64_t put_ = 0;
  Progress done_;
};

// What one recording of an event put on a stream. Streams may wait for it after the event itself is gone.
struct Recording {
  uint64_t capture;  // its number, or zero; between the nodes of a graph, which has one order, it says nothing new
  Progress reached;
  Clock::time_point time;

  bool is_done() { return reached.has(1); }
  void wait() { reached.wait(1); }
};

// An event stands for its last recording; without one there is nothing to wait for.
struct Event {
  std::shared_ptr<Recording> last;

  void record(Stream& stream) {
    last = std::make_shared<Recording>(stream.graph != nullptr ? stream.graph->capture : 0);
    if (last->capture != 0) return;
    stream.put([recording = last] {
      recording->time = Clock::now();
      recording->reached.reach(1);
    });
  }
};

}  // namespace pretend
