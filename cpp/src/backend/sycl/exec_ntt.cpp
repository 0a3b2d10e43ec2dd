// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "backend/sycl/executor.hpp"

namespace halocline::backend::sycl {
namespace {

using sycl_kernels::log_tile;
using sycl_kernels::most_steps;
using sycl_kernels::ntt_item;
using sycl_kernels::ntt_launch;

/// Where transforms read their first pass, and what they need.
template <typename WordT>
std::vector<ntt_item<WordT>> items_of(const executor<WordT>& on, std::span<const unary_job> jobs,
                                      bool forward, bool in_place) {
  std::vector<ntt_item<WordT>> items;
  const unsigned part = forward ? 0 : 2;
  for (const unary_job& job : jobs) {
    for (std::uint32_t limb = 0; limb < job.dst.primes.count; ++limb) {
      const std::uint32_t prime = job.dst.primes.first + limb;
      items.push_back({on.limb(job.dst, limb), on.limb(in_place ? job.dst : job.src, limb),
                       on.roots(prime, part), on.roots(prime, part + 1), on.modulus(prime)});
    }
  }
  return items;
}

/// The launches of one transform: passes through global memory, and that of the tiles.
template <typename WordT>
class transform {
 public:
  transform(const executor<WordT>& on, std::span<const unary_job> jobs, bool forward)
      : on_(on),
        limbs_(jobs.empty() ? 0 : 1),
        forward_(forward),
        first_(on.batch_of(items_of(on, jobs, forward, false), on.log_n())),
        later_(on.batch_of(items_of(on, jobs, forward, true), on.log_n())) {
    limbs_ = first_.count;
  }

  void run() {
    if (limbs_ == 0) return;
    const unsigned global = on_.log_n() > log_tile ? on_.log_n() - log_tile : 0;
    if (forward_) {
      for (unsigned stage = 0; stage < global;) stage += pass(stage, std::min(most_steps, global - stage));
      tiles(global);
    } else {
      tiles(global);
      for (unsigned left = global; left > 0;)
        left -= pass(left - std::min(most_steps, left), std::min(most_steps, left));
    }
  }

 private:
  [[nodiscard]] sycl_kernels::batch<ntt_item<WordT>> next() {
    const bool first = !begun_;
    begun_ = true;
    return first ? first_ : later_;
  }
  unsigned pass(unsigned stage, unsigned steps) {
    static constexpr std::array<std::string_view, 6> names{"intt_global_1", "intt_global_2", "intt_global_3",
                                                           "ntt_global_1",  "ntt_global_2",  "ntt_global_3"};
    const ntt_launch<WordT> parameter{next(), stage, steps, !forward_ && stage == 0 ? 1U : 0U};
    on_.launch(names[(forward_ ? most_steps : 0) + steps - 1], (std::size_t{limbs_} << on_.log_n()) >> steps,
               group_items, parameter);
    return steps;
  }
  /// A work item has 2^most_steps words of a tile, but few have more of small ones.
  void tiles(unsigned stage) {
    const unsigned log_words = on_.log_n() - stage;
    const std::size_t group = std::max<std::size_t>(1, (std::size_t{1} << log_words) >> most_steps);
    const ntt_launch<WordT> parameter{next(), stage, log_words, forward_ || stage == 0 ? 1U : 0U};
    on_.launch(forward_ ? "ntt_tile" : "intt_tile", (std::size_t{limbs_} << stage) * group, group, parameter);
  }

  const executor<WordT>& on_;
  std::uint32_t limbs_;
  bool forward_;
  bool begun_ = false;
  sycl_kernels::batch<ntt_item<WordT>> first_;
  sycl_kernels::batch<ntt_item<WordT>> later_;
};

template <typename WordT>
void run_intt(const executor<WordT>& on, std::span<const unary_job> jobs) {
  transform<WordT>(on, jobs, false).run();
}

}  // namespace

template <typename WordT>
void run_ntt(const executor<WordT>& on, std::span<const unary_job> jobs) {
  transform<WordT>(on, jobs, true).run();
}

template <typename WordT>
op_table<executor<WordT>> ntt_operations() {
  return op_table<executor<WordT>>{row<run_ntt<WordT>>(ops::ntt), row<run_intt<WordT>>(ops::intt)};
}

template op_table<executor<std::uint32_t>> ntt_operations();
template op_table<executor<std::uint64_t>> ntt_operations();
template void run_ntt(const executor<std::uint32_t>&, std::span<const unary_job>);
template void run_ntt(const executor<std::uint64_t>&, std::span<const unary_job>);

}  // namespace halocline::backend::sycl
