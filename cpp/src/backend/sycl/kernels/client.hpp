// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halocline/arith/small_stream.hpp"
#include "kernel.hpp"

/// Private samples, slot transform, rounding, lift. Compiled without contraction of products and sums.
namespace halocline::sycl_kernels {

/// A work item makes 16 coefficients: the words of one block, or of two.
HALOCLINE_KERNEL(halocline_sample_ternary, batch<small_item>) {
  constexpr std::size_t per_item = arith::ternary_per_block;
  const unsigned log_items = p->log_n - 4;
  const small_item of = p->items[global_id() >> log_items];
  const std::size_t block_number = global_id() & ((std::size_t{1} << log_items) - 1);
  const arith::chacha_key key = arith::make_chacha_key(of.seed);
  const arith::chacha_block block =
      arith::chacha20(key, static_cast<std::uint32_t>(block_number), {of.stream, arith::ternary_domain, 0});
  for (std::size_t i = 0; i < per_item; ++i) {
    const std::size_t j = block_number * per_item + i;
    const std::uint32_t accepted = arith::ternary_accepted(block.words[i]);
    of.dst[j] = accepted != 0 ? arith::ternary_value(block.words[i], accepted)
                              : arith::ternary_coefficient(key, of.stream, j, 1);
  }
}

HALOCLINE_KERNEL(halocline_sample_gaussian, batch<small_item>) {
  constexpr std::size_t per_block = arith::gaussian_per_block;
  const unsigned log_items = p->log_n - 3;
  const small_item of = p->items[global_id() >> log_items];
  const std::size_t block_number = global_id() & ((std::size_t{1} << log_items) - 1);
  const arith::chacha_key key = arith::make_chacha_key(of.seed);
  const arith::chacha_block block =
      arith::chacha20(key, static_cast<std::uint32_t>(block_number), {of.stream, arith::gaussian_domain, 0});
  for (std::size_t i = 0; i < per_block; ++i) {
    of.dst[block_number * per_block + i] =
        arith::gaussian_value(arith::block_word<std::uint64_t>(block, i), of.table, of.entries);
  }
}

#if defined(HALOCLINE_SYCL_DOUBLES)

/// Places: slot k of a message is a point, conjugated or not; slots that are not there are 0.
HALOCLINE_KERNEL(halocline_slots_place, slot_launch) {
  const position at(p->all);
  const std::uint32_t place = arith::slot_places(at.item.factors, p->all.log_n)[at.j];
  const std::size_t n = std::size_t{1} << p->all.log_n;
  arith::fft_point point{0.0, 0.0};
  if (at.j < at.item.count) {
    point = at.item.slots[at.j];
    if (place % 2 != 0) point.im = -point.im;
  }
  at.item.points[place / 2] = point.re;
  at.item.points[n + place / 2] = point.im;
}

HALOCLINE_KERNEL(halocline_slots_collect, slot_launch) {
  const position at(p->all);
  const std::uint32_t place = arith::slot_places(at.item.factors, p->all.log_n)[at.j];
  const std::size_t n = std::size_t{1} << p->all.log_n;
  const double im = at.item.points[n + place / 2];
  at.item.slots[at.j] = {at.item.points[place / 2], place % 2 == 0 ? im : -im};
}

/// Points of one transform, real parts first.
struct point_run {
  double* re;
  double* im;
  arith::fft_point get(std::size_t j) const { return {re[j], im[j]}; }
  void set(std::size_t j, arith::fft_point value) const {
    re[j] = value.re;
    im[j] = value.im;
  }
};

/// A radix-4 pass: a work item has the corresponding points of the quarters of a block.
template <bool Split>
inline void slot_quads(const slot_launch& p) {
  const unsigned log_slots = p.all.log_n;
  const slot_item of = p.all.items[global_id() >> (log_slots - 2)];
  const std::size_t u = global_id() & ((std::size_t{1} << (log_slots - 2)) - 1);
  const unsigned log_quarter = log_slots - p.depth - 2;
  const std::size_t quarter = std::size_t{1} << log_quarter;
  const std::size_t block = u >> log_quarter;
  const std::size_t j = 4 * block * quarter + (u & (quarter - 1));
  const arith::fft_factors w = of.factors[arith::fft_factor_offset(log_slots, p.depth) + block];
  const point_run at{of.points, of.points + (std::size_t{1} << log_slots)};
  const arith::fft_quad in{at.get(j), at.get(j + quarter), at.get(j + 2 * quarter), at.get(j + 3 * quarter)};
  const arith::fft_quad out = Split ? arith::fft_split(in, w) : arith::fft_join(in, w);
  at.set(j, out.c0);
  at.set(j + quarter, out.c1);
  at.set(j + 2 * quarter, out.c2);
  at.set(j + 3 * quarter, out.c3);
}

HALOCLINE_KERNEL(halocline_slots_split, slot_launch) { slot_quads<true>(*p); }
HALOCLINE_KERNEL(halocline_slots_join, slot_launch) { slot_quads<false>(*p); }

/// The radix-2 pass where log2 of the slots is odd.
template <bool Split>
inline void slot_pairs(const slot_launch& p) {
  const unsigned log_slots = p.all.log_n;
  const slot_item of = p.all.items[global_id() >> (log_slots - 1)];
  const std::size_t half = std::size_t{1} << (log_slots - 1);
  const std::size_t j = global_id() & (half - 1);
  const point_run at{of.points, of.points + 2 * half};
  const arith::fft_pair in{at.get(j), at.get(j + half)};
  const arith::fft_pair out = Split ? arith::fft_split_first(in) : arith::fft_join_first(in);
  at.set(j, out.low);
  at.set(j + half, out.high);
}

HALOCLINE_KERNEL(halocline_slots_split_first, slot_launch) { slot_pairs<true>(*p); }
HALOCLINE_KERNEL(halocline_slots_join_first, slot_launch) { slot_pairs<false>(*p); }

/// A work item for each integer of the result; those between the coefficients are 0.
HALOCLINE_KERNEL(halocline_round, batch<round_item>) {
  const position at(*p);
  if (at.j >= at.item.integers) return;
  const std::size_t stride = at.item.integers / at.item.count;
  arith::wide_coefficient whole{0, 0};
  if (at.j % stride == 0) {
    whole = arith::to_wide(arith::rounded_coefficient(at.item.src[at.j / stride], at.item.factor));
  }
  std::uint64_t* const target = at.item.dst + at.j * at.item.words;
  target[0] = whole.low;
  if (at.item.words == 2) target[1] = whole.high;
}

/// A group of work items for each job.
HALOCLINE_KERNEL(halocline_largest, batch<round_item>) {
  const round_item of = p->items[group_id()];
  double found = 0.0;
  for (std::size_t i = local_id(); i < of.count; i += group_size()) {
    const double x = of.src[i] < 0.0 ? -of.src[i] : of.src[i];
    found = found < x ? x : found;
  }
  const auto group = sycl::ext::oneapi::this_work_item::get_work_group<1>();
  found = sycl::reduce_over_group(group, found, sycl::maximum<double>());
  if (local_id() == 0) *of.largest = found;
}

HALOCLINE_KERNEL(halocline_lift_begin, batch<lift_item<word>>) {
  const lift_item<word>& of = p->items[global_id()];
  if (of.overflow != nullptr) *of.overflow = 0;
}

HALOCLINE_KERNEL(halocline_lift, batch<lift_item<word>>) {
  const position at(*p);
  if (at.j >= at.item.count) return;
  word top = 0;
  at.item.dst[at.j] =
      arith::lifted_coefficient(at.item.limbs + at.j * at.item.stride, std::size_t{1} << at.item.log_n,
                                at.item.primes, at.item.moduli, at.item.table, at.item.scale, top);
  if (top != 0 && at.item.overflow != nullptr) {
    sycl::atomic_ref<std::uint64_t, sycl::memory_order::relaxed, sycl::memory_scope::device>(
        *at.item.overflow) = 1;
  }
}

#endif  // HALOCLINE_SYCL_DOUBLES

}  // namespace halocline::sycl_kernels
