// SPDX-License-Identifier: Apache-2.0
// The fused kernels of private retrieval, a block at a time on the host: code between two barriers for one
// thread after the other, with the code that runs on a GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <bit>
#include <random>
#include <thread>
#include <vector>

#include "backend/cuda/retrieval/fused_plan.hpp"
#include "backend/cuda/retrieval/fused_tree.cuh"
#include "backend/cuda/retrieval/fused_tuning.hpp"
#include "cuda_fused_rig.hpp"
#include "halocline/ring/automorphism.hpp"

namespace {

using namespace halocline;
using namespace halocline::test;
using namespace halocline::backend::cuda;

/// All threads of a block. Those that run without a barrier between them take turns in both orders.
template <typename ShapeT>
class host_team {
 public:
  host_team(std::uint32_t threads, bool falling) : own_(threads), falling_(falling) {}

  template <typename BodyT>
  void each(const BodyT& body) {
    const auto threads = static_cast<std::uint32_t>(own_.size());
    for (std::uint32_t t = 0; t < threads; ++t) {
      const std::uint32_t thread = falling_ ? threads - 1 - t : t;
      body(thread, own_[thread]);
    }
  }
  template <typename BodyT>
  void each_alone(const BodyT& body) {
    each(body);
  }

 private:
  std::vector<fused_state<ShapeT>> own_;
  bool falling_;
};

/// A thread of a block among threads of the host: barriers are real, and between them threads proceed as they
/// happen to.
template <typename ShapeT>
class thread_team {
 public:
  thread_team(std::uint32_t thread, std::barrier<>& all) : thread_(thread), random_(thread), all_(all) {}

  template <typename BodyT>
  void each(const BodyT& body) {
    each_alone(body);
    all_.arrive_and_wait();
  }
  template <typename BodyT>
  void each_alone(const BodyT& body) {
    for (auto i = random_() % 4; i > 0; --i) std::this_thread::yield();
    body(thread_, own_);
  }

 private:
  std::uint32_t thread_;
  std::minstd_rand random_;
  std::barrier<>& all_;
  fused_state<ShapeT> own_{};
};

/// How the threads of an emulated block take turns.
enum class turns { rising, falling, free };

template <typename ShapeT, typename TeamT>
void run_block(const fused_block<ShapeT>& on, TeamT& team) {
  if constexpr (ShapeT::components == 1) {
    fused_expand(on, team);
  } else if (on.job.bits > 0) {
    fused_select_tree(on, team);
  } else {
    fused_select(on, team);
  }
}

template <typename ShapeT>
void run_blocks(const fused_params& p, turns order) {
  const unsigned log_n = p.log_n;
  ASSERT_TRUE(ShapeT::k == 0 || ShapeT::k == log_n);
  std::vector<std::uint32_t> shared(
      fused_shared_bytes(ShapeT::e, ShapeT::components, p.limbs, log_n, ShapeT::staged, p.inner) / 4 + 4);
  auto* const first = reinterpret_cast<std::uint32_t*>(
      (reinterpret_cast<std::uintptr_t>(shared.data()) + 15) & ~std::uintptr_t{15});
  for (std::uint32_t b = 0; b < p.blocks(); ++b) {
    std::fill(shared.begin(), shared.end(), 0xdeadbeef);
    const auto on = fused_find<ShapeT>(p, b, first);
    if (order == turns::free) {
      std::barrier<> all(on.threads());
      std::vector<std::jthread> threads;
      for (std::uint32_t t = 0; t < on.threads(); ++t) {
        threads.emplace_back([&, t] {
          thread_team<ShapeT> team(t, all);
          run_block(on, team);
        });
      }
    } else {
      host_team<ShapeT> team(on.threads(), order == turns::falling);
      run_block(on, team);
    }
  }
}

/// What differs between two kernels of one operation.
template <unsigned words, unsigned log_size, bool in_shared>
struct variant {
  static constexpr unsigned e = words, log_n = log_size;
  static constexpr bool staged = in_shared;
};

template <typename VariantT>
class CudaRetrievalFused : public cuda_fused_rig {
 protected:
  template <unsigned components>
  using shape = fused_shape<VariantT::e, VariantT::log_n, components, VariantT::staged>;

  /// Random ciphertexts, `stride` limbs apart from limb `first` on.
  std::vector<word> ciphertexts(std::uint32_t count, std::uint32_t first, std::uint32_t stride) {
    std::vector<word> values((first + std::size_t{count} * stride) * n(), 0xabababab);
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::vector<word> own = residues(2);
      std::copy(own.begin(), own.end(), values.begin() + (first + std::size_t{i} * stride) * n());
    }
    return values;
  }
  backend::poly_array operand(std::uint32_t count, std::uint32_t first = 0, std::uint32_t gap = 0) {
    const std::uint32_t stride = 2 * limbs() + gap;
    return {raw(ciphertexts(count, first, stride)), first, stride};
  }

  /// One job for each number of children; `targets`: limbs of a block; `turned`: children that become rows of
  /// points, at most, in blocks of `block`.
  void expand(const std::vector<std::uint32_t>& children, backend::digit_split split, std::uint32_t targets,
              turns order, std::uint32_t turned = 0, std::uint32_t block = 32) {
    std::vector<backend::expand_job> cpu, emulated;
    for (const std::uint32_t count : children) {
      backend::expand_job job;
      job.children = count;
      job.split = split;
      job.src = operand(count / 2 + count % 2, 1, 3);
      job.rows = operand(limbs() * split.digits, 0, 1);
      job.monomial = {raw(residues(1)), 0, limbs()};
      const auto element = static_cast<std::uint32_t>((n() >> (random_() % 4)) + 1);
      job.permutation = raw(ring::automorphism_permutation(element, host_->log_n));
      const auto dst = destination(std::vector<word>((2 + std::size_t{count} * (2 * limbs() + 1)) * n(), 77));
      job.dst = {dst.first, 2, 2 * limbs() + 1};
      job.turned = std::min(turned, count);
      job.points.rows = 2 * job.turned + (block == 1 ? 4 : 1);
      job.points.block = block;
      const auto points = destination(std::vector<word>(job.points.rows * limbs() * n(), 66));
      job.points.data = points.first;
      cpu.push_back(job);
      job.dst.data = dst.second;
      job.points.data = points.second;
      emulated.push_back(job);
    }
    cpu_->expand_node(ring_->tables(), cpu);
    emulate([&](const auto& resolve) {
      plan_fused<backend::expand_job>(resolve, emulated, [&](fused_params& p) {
        p.targets = targets;
        run_blocks<shape<1>>(p, order);
      });
    });
  }
  /// `in_place`: the result takes the place of x.
  void select(const std::vector<std::uint32_t>& counts, backend::digit_split split, bool in_place,
              turns order) {
    std::vector<backend::select_job> cpu, emulated;
    for (const std::uint32_t count : counts) {
      backend::select_job job;
      job.count = count;
      job.split = split;
      job.y = operand(count, 2);
      job.rows = operand(2 * limbs() * split.digits);
      const auto dst = destination(ciphertexts(count, 1, 2 * limbs() + 2));
      job.dst = {dst.first, 1, 2 * limbs() + 2};
      job.x = in_place ? job.dst : operand(count);
      cpu.push_back(job);
      job.dst.data = dst.second;
      if (in_place) job.x = job.dst;
      emulated.push_back(job);
    }
    cpu_->select_pair(ring_->tables(), cpu);
    emulate([&](const auto& resolve) {
      plan_fused<backend::select_job>(resolve, emulated,
                                      [&](fused_params& p) { run_blocks<shape<2>>(p, order); });
    });
  }

  /// A job among trees: ciphertexts, those that are left, and bits.
  struct tree {
    std::uint32_t columns, kept;
    unsigned bits;
  };
  /// Ciphertexts that are no results are not compared.
  void select_trees(const std::vector<tree>& trees, backend::digit_split split, bool inner, turns order) {
    std::vector<backend::select_tree_job> cpu, emulated;
    const std::uint32_t stride = 2 * limbs() + 1;
    for (const tree& each : trees) {
      const auto data = destination(ciphertexts(each.columns, 1, stride));
      cpu.push_back({{data.first, 1, stride},
                     operand(each.bits * 2 * limbs() * split.digits),
                     each.columns,
                     each.kept,
                     each.bits,
                     split});
      emulated.push_back(cpu.back());
      emulated.back().data.data = data.second;
    }
    cpu_->select_tree(ring_->tables(), cpu);
    emulate([&](const auto& resolve) {
      plan_fused<backend::select_tree_job>(resolve, emulated, [&](fused_params& p) {
        p.inner = inner;
        run_blocks<shape<2>>(p, order);
      });
      for (std::size_t i = 0; i < cpu.size(); ++i) {
        const std::vector<word> expected = words_of(*cpu[i].data.data);
        auto* const found = const_cast<word*>(resolve.template raw<word>(*emulated[i].data.data));
        for (std::uint32_t other = cpu[i].kept; other < cpu[i].columns; ++other) {
          const std::size_t at = (1 + std::size_t{other} * stride) * n();
          std::copy_n(expected.begin() + at, 2 * limbs() * n(), found + at);
        }
      }
    });
  }
};

using variants = testing::Types<variant<4, 0, false>, variant<4, 0, true>, variant<4, 11, true>,
                                variant<3, 11, true>, variant<4, 12, false>, variant<3, 12, true>>;
TYPED_TEST_SUITE(CudaRetrievalFused, variants);

/// The parameter sets: two primes with several digits, four primes with one.
TYPED_TEST(CudaRetrievalFused, EqualsTheSpecification) {
  const unsigned log_n = TypeParam::log_n != 0 ? TypeParam::log_n : 6;
  this->begin(log_n, {26.5, 26.5});
  this->expand({3, 1}, {4, 7}, 2, turns::rising);
  this->expand({4}, {4, 7}, 1, turns::falling);
  this->select({2, 1}, {3, 9}, true, turns::falling);
  this->select({1}, {3, 9}, false, turns::rising);
  this->begin(log_n, {26.5, 26.5, 26.5, 26.5});
  this->expand({2}, {1, 27}, 4, turns::falling);
  this->expand({3}, {1, 27}, 1, turns::rising);
  this->select({1}, {1, 27}, true, turns::rising);
  this->select({2}, {1, 27}, false, turns::falling);
}

/// Leaves that go to a matrix of points: even and odd children on both sides of the last one that does.
TYPED_TEST(CudaRetrievalFused, TurnsLeaves) {
  const unsigned log_n = TypeParam::log_n != 0 ? TypeParam::log_n : 5;
  this->begin(log_n, {26.5, 26.5});
  this->expand({5, 1}, {4, 7}, 2, turns::rising, 3);
  this->expand({4}, {4, 7}, 1, turns::falling, 2);
  this->begin(log_n, {26.5, 26.5, 26.5, 26.5});
  this->expand({3}, {1, 27}, 4, turns::falling, 3);
  this->expand({3}, {1, 27}, 1, turns::rising, 1);
  // Point-major: in quads for whole nodes and rows that are a multiple of four, and word by word.
  this->expand({5}, {1, 27}, 2, turns::rising, 4, 1);
  this->expand({3, 1}, {1, 27}, 4, turns::falling, 3, 1);
}

/// Subtrees of two levels, all of whose pairs exist or only some.
TYPED_TEST(CudaRetrievalFused, SelectsBySeveralBits) {
  const unsigned log_n = TypeParam::log_n != 0 ? TypeParam::log_n : 6;
  this->begin(log_n, {26.5, 26.5});
  this->select_trees({{3, 1, 2}}, {3, 9}, true, turns::rising);
  this->select_trees({{7, 2, 2}}, {3, 9}, false, turns::falling);
  if (log_n == 11) return;
  this->begin(log_n, {26.5, 26.5, 26.5, 26.5});
  this->select_trees({{4, 1, 2}}, {1, 27}, false, turns::rising);
  this->select_trees({{3, 1, 2}}, {1, 27}, log_n < 12, turns::falling);
}

using CudaRetrievalFusedAny = CudaRetrievalFused<variant<4, 0, true>>;

/// Other rings and splits: one prime, many digits, more products than a sum holds, the largest primes.
TEST_F(CudaRetrievalFusedAny, AnyRing) {
  for (const unsigned log_n : {5U, 7U, 8U, 9U}) {
    SCOPED_TRACE(log_n);
    begin(log_n, {30});
    expand({5}, {8, 4}, 1, turns::rising);
    expand({2}, {1, 30}, 1, turns::falling);
    select({2}, {8, 4}, true, turns::rising);
    begin(log_n, {30, 29.9, 29.5});
    expand({7, 2}, {6, 5}, 3, turns::rising);
    select({3}, {8, 4}, true, turns::falling);  // 48 products
    begin(log_n, {20, 20.5});
    expand({2}, {7, 3}, 2, turns::rising);
    expand({2}, {8, 9}, 2, turns::rising);  // more digits than needed
    select({1}, {3, 22}, true, turns::rising);
  }
}

/// One to three levels, jobs of different ones in a launch, every number of columns.
TEST_F(CudaRetrievalFusedAny, AnySubtree) {
  for (const bool inner : {false, true}) {
    begin(5, {30, 29.9});
    std::vector<tree> trees;
    for (std::uint32_t columns = 2; columns <= 8; ++columns) {
      trees.push_back({columns, 1, static_cast<unsigned>(std::bit_width(columns - 1))});
    }
    for (const std::uint32_t columns : {9U, 12U, 13U, 16U}) trees.push_back({columns, 2, 3});
    for (const std::uint32_t columns : {7U, 10U, 12U}) trees.push_back({columns, 3, 2});
    trees.push_back({5, 4, 1});
    select_trees(trees, {2, 15}, inner, turns::rising);
    begin(6, {26.5, 26.5, 26.5});
    select_trees({{7, 1, 3}, {3, 1, 2}}, {1, 27}, inner, turns::falling);
  }
}

/// A thread that is early or late finds what it needs, and disturbs no other one.
TEST_F(CudaRetrievalFusedAny, ThreadsNeedNoMoreBarriers) {
  begin(6, {26.5, 26.5});
  expand({3}, {2, 14}, 2, turns::free);
  expand({3}, {2, 14}, 1, turns::free, 2);
  expand({3}, {2, 14}, 2, turns::free, 2, 1);
  select({1}, {1, 27}, true, turns::free);
  for (const bool inner : {false, true}) {
    select_trees({{4, 1, 2}}, {1, 27}, inner, turns::free);
    select_trees({{7, 1, 3}}, {2, 14}, inner, turns::free);
  }
}

/// More jobs than a launch has, of two splits.
TEST_F(CudaRetrievalFusedAny, SeveralLaunches) {
  begin(5, {30, 30});
  std::vector<std::uint32_t> counts(fused_jobs + 2);
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = 1 + static_cast<std::uint32_t>(i % 3);
  expand(counts, {2, 15}, 1, turns::rising);
  select(counts, {2, 15}, true, turns::rising);
}

TEST(CudaRetrievalFusedPlan, ChoosesWhatFits) {
  for (const int architecture : {80, 86, 90, 100}) {
    for (const unsigned components : {1U, 2U}) {
      for (const auto& [log_n, limbs] : {std::pair{11U, 2U}, std::pair{12U, 4U}}) {
        const fused_choice choice = choose_fused(architecture, components, log_n, limbs);
        const std::uint32_t bytes = fused_shared_bytes(choice.e, components, limbs, log_n, choice.staged);
        EXPECT_TRUE(bytes <= most_fused_bytes(architecture) || architecture == 86) << architecture << log_n;
      }
    }
  }
  // Three blocks of single selections and two of subtrees on a multiprocessor; no room for four primes.
  EXPECT_TRUE(choose_tree(90, 11, 2).inner && choose_tree(90, 11, 2).staged);
  EXPECT_EQ(most_fused_bytes(90) / fused_shared_bytes(3, 2, 2, 11, true), 3U);
  EXPECT_EQ(most_fused_bytes(90) / fused_shared_bytes(3, 2, 2, 11, true, true), 2U);
  EXPECT_FALSE(choose_tree(90, 12, 4).inner || choose_tree(86, 11, 2).inner);
  const fused_choice wanted{3, false, 2, false, false};
  override_fused(&wanted);
  EXPECT_EQ(choose_fused(90, 1, 12, 4).e, 3);
  EXPECT_EQ(choose_fused(90, 1, 10, 4).e, 4);
  EXPECT_FALSE(choose_tree(90, 11, 2).inner);
  override_fused(nullptr);
  EXPECT_EQ(fused_targets(wanted, 263, 4, 132), 1U);
  EXPECT_EQ(fused_targets(wanted, 264, 4, 132), 4U);
}

}  // namespace
