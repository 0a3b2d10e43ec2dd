// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "backend/cuda/key/key_rows.cuh"
#include "backend/key_parts.hpp"
#include "cuda_kernel_rig.hpp"
#include "cuda_ntt_rig.hpp"
#include "halocline/ring/automorphism.hpp"

namespace {

using namespace halocline;
using namespace halocline::test;
using word = std::uint32_t;
using shape = key_rows_shape;

/// A warp of the kernel, step by step.
void run_warp(const key_params<word>& p, const key_position& at, std::uint32_t row) {
  std::vector<key_rows_lane> lanes;
  for (std::uint32_t lane = 0; lane < shape::lanes; ++lane) lanes.emplace_back(p, at, row, lane);
  std::vector<word> table(shape::rows << shape::k);
  for (unsigned level = 0; level < shape::k; ++level) {
    std::copy_n(lanes[0].twiddles(level), shape::rows << level, table.begin() + (shape::rows << level));
  }
  const auto stage = std::make_unique<key_rows_stage>();
  struct state {
    key_rows_lane::words_type x;
    key_rows_lane::sums_type sums{};
  };
  std::vector<state> of(shape::lanes);
  const auto step = [&](const auto& run) {
    for (std::uint32_t lane = 0; lane < shape::lanes; ++lane) run(lanes[lane], of[lane]);
  };
  const std::uint32_t digits = lanes[0].job().digits;
  for (std::uint32_t d = 0; d < digits; ++d) {
    const auto& digit = lanes[0].digit(d);
    std::copy_n(digit.d + lanes[0].offset(), shape::row_words, stage->words);
    std::copy_n(digit.b + lanes[0].offset(), shape::row_words, stage->keys[0]);
    std::copy_n(digit.a + lanes[0].offset(), shape::row_words, stage->keys[1]);
    if (digit.rows) {
      step([&](const auto& on, state& s) { on.read(*stage, s.x); });
      for (unsigned r = 0; r < key_rows_lane::rounds; ++r) {
        step([&](const auto& on, state& s) { on.round(r, *stage, table.data(), s.x); });
      }
      step([&](const auto& on, state& s) { on.put(*stage, s.x); });
      step([&](const auto& on, state& s) { on.add_transformed(*stage, s.sums); });
    } else {
      step([&](const auto& on, state& s) { on.add_copied(*stage, s.sums); });
    }
    step([&](const auto& on, state& s) { on.normalise(d, s.sums); });
  }
  if (!p.turned) return step([&](const auto& on, state& s) { on.finish(s.sums); });
  step([&](const auto& on, state& s) { on.keep(*stage, s.sums); });
  step([&](const auto& on, state&) { on.turn(at, row, *stage); });
}

/// The first phase of the transforms, and the products.
void run_key_rows(const resolver<word>& resolve, std::span<const backend::key_job> jobs) {
  for (const backend::unary_job& each : backend::transforms_of(jobs)) {
    plain_ntt_params<word> params;
    params.moduli = resolve.moduli();
    params.roots = resolve.roots();
    params.log_n = resolve.log_n();
    ntt_group<word> group;
    group.prime = each.dst.primes.first;
    group.polys = 1;
    group.src[0] = group.dst[0] = resolve.limb(each.dst);
    params.groups.add(group, each.dst.primes.count);
    constexpr unsigned e = ntt_log_words(32);
    run_columns<e, row_stages, false, 0, word, twiddle_table>(params, {e, 64, 1, true});
  }
  plan_key(resolve, {}, {}, true, jobs, [](const key_params<word>& p, std::uint32_t limbs) {
    ASSERT_TRUE(p.rows);
    for (std::uint32_t limb = 0; limb < limbs; ++limb) {
      for (std::uint32_t row = 0; row < p.words >> shape::k; ++row) {
        const std::uint32_t parts = key_parts(p, position_of(p, {0, limb, 0, shape::threads}));
        for (std::uint32_t part = 0; part < parts; ++part)
          run_warp(p, position_of(p, {0, limb, 0, 0}, part), row);
      }
    }
  });
}

class CudaKeyRows : public cuda_kernel_rig<word> {
 protected:
  struct two_digits {
    backend::key_digit cpu, emulated;
  };
  /// The same digit for both runs: what is in coefficient form is destroyed.
  two_digits digit(window w, bool coefficients) {
    const limbs<word> values = random_limbs(*host_, w, random_);
    const auto key = [&] {
      std::vector<word> joined;
      for (const auto& limb : random_limbs(*host_, host_->all(), random_)) {
        joined.insert(joined.end(), limb.begin(), limb.end());
      }
      return raw(joined);
    };
    two_digits made;
    made.cpu = {ring_->filled(w, values), key(), key(), {}};
    made.cpu.coefficients = coefficients;
    made.emulated = made.cpu;
    made.emulated.digit = ring_->filled(w, values);
    views_.push_back(made.emulated.digit);
    return made;
  }
  void add_digits(window w, std::size_t count, std::vector<backend::key_digit>& cpu,
                  std::vector<backend::key_digit>& emulated) {
    for (std::size_t d = 0; d < count; ++d) {
      const two_digits made = digit(w, d % 3 != 1);
      cpu.push_back(made.cpu);
      emulated.push_back(made.emulated);
    }
  }
  const memory::buffer* table() {
    return raw(ring::automorphism_permutation(random_() % (2 * host_->n()) | 1, host_->log_n));
  }
};

/// With and without automorphisms, more digits than are added without a reduction, addends and further sums.
TEST_F(CudaKeyRows, EqualsTheTransformAndTheProduct) {
  begin(16);
  const window w{1, 2};
  for (const bool turned : {false, true}) {
    const auto d0 = destination(w), d1 = destination(w);
    backend::key_job cpu{d0.cpu, d1.cpu, {}, turned};
    backend::key_job emulated = cpu;
    emulated.dst0 = d0.emulated;
    emulated.dst1 = d1.emulated;
    add_digits(w, turned ? 2 : 6, cpu.digits, emulated.digits);
    cpu.plus0 = emulated.plus0 = operand(w);
    cpu.factors = emulated.factors = {3, 5};
    if (turned) {
      cpu.permutation = emulated.permutation = table();
      cpu.more.emplace_back();
      emulated.more.emplace_back();
      add_digits(w, 1, cpu.more[0].digits, emulated.more[0].digits);
      cpu.more[0].permutation = emulated.more[0].permutation = table();
    }
    cpu_->key_multiply_accumulate(ring_->tables(), {&cpu, 1});
    buffers_.push_back(&ring_->tables().roots);
    emulate([&](const auto& on) { run_key_rows(on.resolve(), {&emulated, 1}); });
  }
}

}  // namespace
