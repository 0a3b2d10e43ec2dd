// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "backend/sycl/executor.hpp"
#include "halocline/arith/small_stream.hpp"

namespace halocline::backend::sycl {
namespace {

using sycl_kernels::lift_item;
using sycl_kernels::round_item;
using sycl_kernels::slot_item;
using sycl_kernels::slot_launch;
using sycl_kernels::small_item;

/// A work item has the coefficients of one block of the stream.
template <typename WordT>
void launch_blocks(const executor<WordT>& on, std::string_view kernel, const std::vector<small_item>& items,
                   std::size_t per_block) {
  if (items.empty()) return;
  on.launch(kernel, items.size() * (on.n() / per_block), std::min(group_items, on.n() / per_block),
            on.batch_of(items, on.log_n()));
}

template <typename WordT>
void sample_small(const executor<WordT>& on, std::span<const small_job> jobs) {
  std::vector<small_item> ternary, gaussian;
  for (const small_job& job : jobs) {
    small_item made{on.template raw<std::int64_t>(*job.dst), on.template raw<std::uint8_t>(*job.seed),
                    nullptr, 0, job.stream};
    if (job.table != nullptr) {
      made.table = on.template raw<std::uint64_t>(*job.table);
      made.entries = static_cast<std::uint32_t>(job.table->size() / sizeof(std::uint64_t));
    }
    (job.table != nullptr ? gaussian : ternary).push_back(made);
  }
  launch_blocks(on, "sample_ternary", ternary, arith::ternary_per_block);
  launch_blocks(on, "sample_gaussian", gaussian, arith::gaussian_per_block);
}

/// Transforms of one direction and size.
template <typename WordT>
class slot_passes {
 public:
  slot_passes(const executor<WordT>& on, const std::vector<slot_item>& items, unsigned log_slots)
      : on_(on), all_(on.batch_of(items, log_slots)) {}

  void to_coefficients() const {
    pass("slots_place", 0, 0);
    for (unsigned depth = all_.log_n; depth > all_.log_n % 2; depth -= 2) pass("slots_join", depth - 2, 2);
    if (all_.log_n % 2 == 1) pass("slots_join_first", 0, 1);
  }
  void to_slots() const {
    if (all_.log_n % 2 == 1) pass("slots_split_first", 0, 1);
    for (unsigned depth = all_.log_n % 2; depth < all_.log_n; depth += 2) pass("slots_split", depth, 2);
    pass("slots_collect", 0, 0);
  }

 private:
  /// A work item has 2^log_points points.
  void pass(std::string_view kernel, unsigned depth, unsigned log_points) const {
    const std::size_t each = std::size_t{1} << (all_.log_n - log_points);
    on_.launch(kernel, all_.count * each, std::min(group_items, each), slot_launch{all_, depth});
  }

  const executor<WordT>& on_;
  sycl_kernels::batch<slot_item> all_;
};

template <typename WordT>
void slot_transform(const executor<WordT>& on, std::span<const slot_job> jobs) {
  std::map<std::pair<slot_direction, unsigned>, std::vector<slot_item>> kinds;
  for (const slot_job& job : jobs) {
    kinds[{job.direction, job.log_slots}].push_back(
        {on.template raw<arith::fft_point>(*job.slots), on.template raw<double>(*job.coefficients),
         on.template raw<arith::fft_factors>(*job.table), job.count});
  }
  for (const auto& [kind, items] : kinds) {
    const slot_passes<WordT> passes(on, items, kind.second);
    kind.first == slot_direction::to_coefficients ? passes.to_coefficients() : passes.to_slots();
  }
}

template <typename WordT>
void round_coefficients(const executor<WordT>& on, std::span<const round_job> jobs) {
  std::vector<round_item> rounded, measured;
  for (const round_job& job : jobs) {
    const round_item made{on.template raw<double>(*job.src),
                          on.template raw_or_null<std::uint64_t>(job.dst),
                          on.template raw_or_null<double>(job.largest),
                          job.factor,
                          job.count,
                          job.dense ? job.count : static_cast<std::uint32_t>(on.n()),
                          job.words};
    if (job.largest != nullptr) measured.push_back(made);
    if (job.dst != nullptr) rounded.push_back(made);
  }
  if (!measured.empty()) {
    on.launch("largest", measured.size() * group_items, group_items, on.batch_of(measured, on.log_n()));
  }
  on.launch_words("round", rounded, on.log_n());
}

template <typename WordT>
void lift(const executor<WordT>& on, std::span<const lift_job> jobs) {
  std::vector<lift_item<WordT>> items;
  for (const lift_job& job : jobs) {
    items.push_back({on.limb(job.src, 0), on.template raw<double>(*job.dst), on.modulus(job.src.primes.first),
                     on.template raw_or_null<arith::elimination<WordT>>(job.table),
                     on.template raw_or_null<std::uint64_t>(job.overflow), job.scale, job.src.primes.count,
                     job.count, job.stride, on.log_n()});
  }
  if (items.empty()) return;
  on.launch("lift_begin", items.size(), 1, on.batch_of(items, on.log_n()));
  on.launch_words("lift", items, on.log_n());
}

}  // namespace

template <typename WordT>
op_table<executor<WordT>> sample_operations() {
  return op_table<executor<WordT>>{row<sample_small<WordT>>(ops::sample_small)};
}

template <typename WordT>
op_table<executor<WordT>> double_operations() {
  return op_table<executor<WordT>>{row<slot_transform<WordT>>(ops::slot_transform),
                                   row<round_coefficients<WordT>>(ops::round_coefficients),
                                   row<lift<WordT>>(ops::lift)};
}

template op_table<executor<std::uint32_t>> sample_operations();
template op_table<executor<std::uint64_t>> sample_operations();
template op_table<executor<std::uint32_t>> double_operations();
template op_table<executor<std::uint64_t>> double_operations();

}  // namespace halocline::backend::sycl
