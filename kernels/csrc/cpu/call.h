// One call on the CPU: the state of every group, and the passes over the vector that all rules are made of.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "core.h"
#include "cpu/lists.h"
#include "cpu/ranks.h"

namespace sparsync {

constexpr int64_t kUnlimited = INT64_MAX;
// Up to here a vector stays in a core's own cache, where reading it again costs less than a sample.
constexpr int64_t kShortVector = 262144;

struct GroupState {
  Ranks ranks{1, 1};
  int64_t list_capacity = 0;
  Memory used{0, 0};        // what the call before left
  uint32_t bound = 0;       // of the current candidate list, 0 if there is none
  bool is_remembered = false;
  bool is_folded = false;  // so short that a second list takes its bound from all of the vector
  std::atomic<int64_t> listed{0};
  std::atomic<int64_t> first_non_finite{INT64_MAX};
  bool is_decided = false;
  OrderStatistics statistics{0, 0, 0};
  Cut cut{0, 0};
  bool cut_needs_vector = false;  // the list does not hold everything that is selected
  bool list_lacks_zeros = false;  // it holds all but zeros, and those are soon found
  bool is_emptied = false;  // what is listed was taken out of the residuals while a cache held it
  int64_t first_list_count = -1;  // what exceeded the bound while adding
  int pass_count = 1;
  std::vector<std::pair<const Stretch*, Part*>> parts;  // the live parts of the list
};

// The work that is left, as numbers: each goes to one thread, and a thread gets them in order.
class Queue {
 public:
  explicit Queue(int64_t count) : count_(count) {}

  // Calls body(number) with one number after another until none is left.
  template <class Body>
  void work(const Body& body) {
    for (int64_t number = next_++; number < count_; number = next_++) body(number);
  }

 private:
  const int64_t count_;
  std::atomic<int64_t> next_{0};
};

// The ties of a group that one thread has listed so far.
struct Ties {
  int64_t group = -1;
  int64_t count = 0;
};

// Columns among which the largest are found: an odd multiple of 16, at least 4 times what is needed.
inline int64_t folded_width(int64_t needed) { return (needed / 8 * 2 + 3) * 16; }

class Call {
 public:
  explicit Call(const Request& request);

  const Request& request() const { return request_; }
  GroupState& state(int64_t group) { return states_[(size_t)group]; }
  int64_t group_count() const { return (int64_t)request_.groups.size(); }

  // Runs f() on as many of torch's threads as pay; they share the work by a queue.
  void on_each_thread(const std::function<void()>& body);

  // Runs f(stretch) for every stretch, and f(group) for every group, on those threads: whoever is free takes the next.
  void for_each_stretch(const std::function<void(Stretch&)>& body);
  void for_each_group(const std::function<void(int64_t)>& body);

  // Runs f(group) for every group as well, but on this thread, which may then use all, where the list is long.
  void for_each_list(const std::function<void(int64_t)>& body);

  // Runs f(group, piece, begin, length) for the tiles that `stretch` holds of the groups that `wanted` accepts.
  template <class Wanted, class Body>
  static void for_each_tile(const Stretch& stretch, const Wanted& wanted, const Body& body) {
    for (const Span& span : stretch.spans) {
      if (!wanted(span.group)) continue;
      for (int64_t begin = span.begin; begin < span.begin + span.length; begin += kTileSize) {
        body(span.group, span.piece, begin, std::min(kTileSize, span.begin + span.length - begin));
      }
    }
  }

  // residual += gradient everywhere, listing what reaches each group's bound; `after_tile` sees every tile added.
  void add_gradients(const std::function<void(int64_t, int64_t, const float*, int64_t)>& after_tile = nullptr);

  // residual += gradient everywhere, listing of every tile, which is a chunk of its group, the largest that it sends.
  void add_and_list_chunks();

  // Lists the corrected entries of the wanted groups that reach their bound, in place of their earlier list.
  void list_again(const std::function<bool(int64_t)>& wanted);

  // The order statistics of the listed magnitudes of a group, after the pass that listed them.
  OrderStatistics listed_statistics(int64_t group);

  // Exact order statistics of the wanted groups from two histograms of the whole vector.
  void count_everything(const std::function<bool(int64_t)>& wanted);

  // A bound that the wanted number of candidates probably exceeds, from a sample of the vector; the gradient is added
  // to the sampled entries unless it has been already.
  uint32_t sampled_bound(int64_t group, bool is_added) const;

  // A bound that the wanted number of candidates certainly reaches, and few more of a vector without structure: from the
  // largest corrected magnitude in each of a few times as many columns.
  uint32_t folded_bound(int64_t group) const;

  // Adds the zeros that are sent to the lists that lack nothing else.
  void list_zeros();

  // Writes what the cuts select, takes it out of the residuals, and fills in the report.
  void emit();

 private:
  // residual += gradient in one tile; entries of at least `bound` go to `listed`, and how many they are is returned.
  int64_t add_tile(const Span& tile, uint32_t bound, Entry* listed);
  int64_t list_chunk(const Span& tile, uint32_t& bound, Entry* listed);
  void keep(Stretch& stretch, int64_t group, const Entry* entries, int64_t count);
  void list_stretch(Stretch& stretch, const std::function<bool(int64_t)>& wanted, Ties& ties);
  std::vector<uint32_t> sampled_magnitudes(const Group& members, int64_t stride, bool is_added, int64_t& sampled) const;
  bool has_long_list(int64_t group) const;
  void find_parts();
  void count_copy(int64_t group);
  void count_prefixes(int64_t group, Descent& upper, Descent& lower);
  std::vector<Entry> first_zeros(int64_t group) const;
  void emit_part(const Stretch& stretch, const Part& part);
  void finish_group(int64_t group, int64_t above_count, int64_t tie_count);

  const Request& request_;
  std::vector<GroupState> states_;
  int64_t thread_count_;
  std::vector<Stretch> stretches_;
};

}  // namespace sparsync
