// SPDX-License-Identifier: Apache-2.0
// Nodes and pairs in clusters of blocks, on the host: the code that runs on a GPU, one phase of all blocks
// after the other, or all threads of a cluster at once with no more barriers than there are on a GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <deque>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "backend/cuda/retrieval/cluster_node.cuh"
#include "backend/cuda/retrieval/fused_plan.hpp"
#include "backend/cuda/retrieval/fused_tuning.hpp"
#include "cuda_fused_rig.hpp"
#include "halocline/ring/automorphism.hpp"

namespace {

using namespace halocline;
using namespace halocline::test;
using namespace halocline::backend::cuda;

/// All threads of a block, one after the other between two barriers, in one of both orders.
template <typename ShapeT>
class host_team {
 public:
  host_team(std::uint32_t threads, bool falling) : own_(threads), falling_(falling) {}

  template <typename BodyT>
  void each(unsigned group, const BodyT& body) {
    EXPECT_LE(group, own_.size());
    each_alone(body);
  }
  template <typename BodyT>
  void each_alone(const BodyT& body) {
    const auto threads = static_cast<std::uint32_t>(own_.size());
    for (std::uint32_t t = 0; t < threads; ++t) {
      const std::uint32_t thread = falling_ ? threads - 1 - t : t;
      body(thread, own_[thread]);
    }
  }

 private:
  std::vector<fused_state<ShapeT>> own_;
  bool falling_;
};

/// Barriers of a block: those of 1, 2, 4, ... neighbouring threads.
class group_barriers {
 public:
  explicit group_barriers(std::uint32_t threads) {
    for (std::uint32_t group = 1; group <= threads; group *= 2) {
      for (std::uint32_t i = 0; i < threads / group; ++i) levels_[level(group)].emplace_back(group);
    }
  }
  void wait(std::uint32_t thread, unsigned group) { levels_[level(group)][thread / group].arrive_and_wait(); }

 private:
  static unsigned level(unsigned group) { return group == 1 ? 0 : 1 + level(group / 2); }
  std::deque<std::barrier<>> levels_[12];
};

/// A thread of a block among threads of the host: between barriers threads proceed as they happen to.
template <typename ShapeT>
class thread_team {
 public:
  thread_team(std::uint32_t thread, std::uint32_t block, group_barriers& groups, std::barrier<>& cluster)
      : thread_(thread), random_(1 + thread + 64 * block), groups_(groups), cluster_(cluster) {}

  template <typename BodyT>
  void each(unsigned group, const BodyT& body) {
    each_alone(body);
    groups_.wait(thread_, group);
  }
  template <typename BodyT>
  void each_alone(const BodyT& body) {
    for (auto i = random_() % 4; i > 0; --i) std::this_thread::yield();
    body(thread_, own_);
  }
  void arrive() { token_.emplace(cluster_.arrive()); }
  void wait() {
    cluster_.wait(std::move(*token_));
    token_.reset();
  }

 private:
  std::uint32_t thread_;
  std::minstd_rand random_;
  group_barriers& groups_;
  std::barrier<>& cluster_;
  std::optional<std::barrier<>::arrival_token> token_;
  fused_state<ShapeT> own_{};
};

enum class turns { rising, falling, free };

/// Shared memory of the blocks of a cluster, and the blocks.
template <typename ShapeT>
struct host_cluster {
  std::vector<std::vector<std::uint32_t>> memory;
  std::vector<const std::uint32_t*> first;
  std::vector<cluster_block<ShapeT>> blocks;

  host_cluster(const fused_params& p, std::uint32_t node)
      : memory(p.limbs, std::vector<std::uint32_t>(
                            cluster_shared_words(ShapeT::components, p.log_n, p.digits) + 4, 0xdeadbeef)) {
    std::vector<std::uint32_t*> areas;
    for (auto& each : memory) {
      areas.push_back(reinterpret_cast<std::uint32_t*>((reinterpret_cast<std::uintptr_t>(each.data()) + 15) &
                                                       ~std::uintptr_t{15}));
    }
    first.assign(areas.begin(), areas.end());
    for (std::uint32_t i = 0; i < p.limbs; ++i)
      blocks.push_back(cluster_find<ShapeT>(p, node * p.limbs + i, areas[i], first.data()));
  }
};

/// One phase after the other; blocks take turns in one of both orders.
template <typename ShapeT>
void run_phases(const host_cluster<ShapeT>& cluster, bool falling) {
  const auto count = static_cast<std::uint32_t>(cluster.blocks.size());
  std::vector<host_team<ShapeT>> teams(count, {cluster.blocks[0].threads(), falling});
  std::vector<cluster_progress> at(count);
  const auto phase = [&](const auto& body) {
    for (std::uint32_t i = 0; i < count; ++i) body(falling ? count - 1 - i : i);
  };
  phase([&](std::uint32_t b) { cluster_begin(cluster.blocks[b], teams[b], at[b]); });
  phase([&](std::uint32_t b) { cluster_limbs(cluster.blocks[b], teams[b], at[b], false); });
  phase([&](std::uint32_t b) { cluster_limbs(cluster.blocks[b], teams[b], at[b], true); });
  phase([&](std::uint32_t b) { cluster_end(cluster.blocks[b], teams[b]); });
}

/// All threads of all blocks at once.
template <typename ShapeT>
void run_free(const host_cluster<ShapeT>& cluster) {
  const auto count = static_cast<std::uint32_t>(cluster.blocks.size());
  const std::uint32_t threads = cluster.blocks[0].threads();
  std::barrier<> all(static_cast<std::ptrdiff_t>(count) * threads);
  std::deque<group_barriers> groups;
  for (std::uint32_t b = 0; b < count; ++b) groups.emplace_back(threads);
  std::vector<std::jthread> running;
  for (std::uint32_t i = 0; i < count * threads; ++i) {
    running.emplace_back([&, i] {
      const cluster_block<ShapeT>& on = cluster.blocks[i / threads];
      thread_team<ShapeT> team(i % threads, i / threads, groups[i / threads], all);
      cluster_progress at;
      cluster_begin(on, team, at);
      team.arrive();
      cluster_limbs(on, team, at, false);
      team.wait();
      cluster_limbs(on, team, at, true);
      team.arrive();
      cluster_end(on, team);
      team.wait();
    });
  }
}

template <typename ShapeT>
void run_clusters(const fused_params& p, turns order) {
  ASSERT_TRUE(ShapeT::k == 0 || ShapeT::k == p.log_n);
  for (std::uint32_t node = 0; node < p.nodes; ++node) {
    const host_cluster<ShapeT> cluster(p, node);
    if (order == turns::free) {
      run_free(cluster);
    } else {
      run_phases(cluster, order == turns::falling);
    }
  }
}

template <typename SizeT>
class CudaRetrievalCluster : public cuda_fused_rig {
 protected:
  template <unsigned components>
  using shape = fused_shape<cluster_e, SizeT::value, components, false>;

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

  /// One job for each number of children; `turned`: children that become rows of points, at most, in blocks
  /// of `block`.
  void expand(const std::vector<std::uint32_t>& children, backend::digit_split split, turns order,
              std::uint32_t turned = 0, std::uint32_t block = 32) {
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
      plan_fused<backend::expand_job>(resolve, emulated,
                                      [&](fused_params& p) { run_clusters<shape<1>>(p, order); });
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
                                      [&](fused_params& p) { run_clusters<shape<2>>(p, order); });
    });
  }
};

template <unsigned log_n>
using size_of = std::integral_constant<unsigned, log_n>;
using sizes = testing::Types<size_of<0>, size_of<11>, size_of<12>>;
TYPED_TEST_SUITE(CudaRetrievalCluster, sizes);

/// The parameter sets: two primes with several digits, four primes with one.
TYPED_TEST(CudaRetrievalCluster, EqualsTheSpecification) {
  const unsigned log_n = TypeParam::value != 0 ? TypeParam::value : 6;
  this->begin(log_n, {26.5, 26.5});
  this->expand({3, 1}, {4, 7}, turns::rising);
  this->select({2, 1}, {3, 9}, true, turns::falling);
  this->select({1}, {3, 9}, false, turns::rising);
  this->begin(log_n, {26.5, 26.5, 26.5, 26.5});
  this->expand({3}, {1, 27}, turns::falling);
  this->select({1}, {1, 27}, true, turns::rising);
  this->select({2}, {1, 27}, false, turns::falling);
}

/// Leaves that go to matrices of points, in blocks and point-major.
TYPED_TEST(CudaRetrievalCluster, TurnsLeaves) {
  const unsigned log_n = TypeParam::value != 0 ? TypeParam::value : 6;
  this->begin(log_n, {26.5, 26.5});
  this->expand({5, 1}, {4, 7}, turns::rising, 3);
  this->expand({5, 2}, {4, 7}, turns::falling, 4, 1);
  this->begin(log_n, {26.5, 26.5, 26.5, 26.5});
  this->expand({3}, {1, 27}, turns::falling, 3);
  this->expand({3, 1}, {1, 27}, turns::rising, 3, 1);
}

using CudaRetrievalClusterAny = CudaRetrievalCluster<size_of<0>>;

/// Sums that are reduced on the way (64 products), the largest primes, fewer coefficients.
TEST_F(CudaRetrievalClusterAny, AnyRing) {
  for (const unsigned log_n : {4U, 5U, 7U, 9U}) {
    SCOPED_TRACE(log_n);
    begin(log_n, {30, 29.9, 29.8, 29.5});
    expand({5}, {8, 4}, turns::rising);
    expand({2}, {1, 30}, turns::falling);
    select({2}, {8, 4}, true, turns::rising);
    begin(log_n, {30, 29.9});
    expand({2}, {1, 30}, turns::rising);
    select({3}, {2, 15}, false, turns::falling);
  }
}

/// A thread that is early or late finds what it needs, and disturbs no other one: the barriers of groups of
/// threads and of the cluster suffice.
TEST_F(CudaRetrievalClusterAny, ThreadsNeedNoMoreBarriers) {
  for (int i = 0; i < 4; ++i) {
    begin(7, {26.5, 26.5});
    expand({3}, {2, 14}, turns::free);
    expand({3}, {2, 14}, turns::free, 2, 1);
    select({1}, {2, 14}, true, turns::free);
    begin(6, {26.5, 26.5, 26.5, 26.5});
    expand({2}, {1, 27}, turns::free);
    select({1}, {1, 27}, true, turns::free);
  }
}

/// Rings without such kernels keep the others.
TEST(CudaRetrievalClusterPlan, ChoosesWhereThereAreKernels) {
  const fused_choice wanted{3, true, 0, true};
  override_fused(&wanted);
  for (const unsigned components : {1U, 2U}) {
    for (const unsigned log_n : {11U, 12U}) {
      for (const std::uint32_t limbs : {2U, 4U}) {
        EXPECT_TRUE(choose_fused(90, components, log_n, limbs).cluster);
        EXPECT_LE(cluster_blocks(log_n) * (4 * cluster_shared_words(components, log_n, 2) + 1024),
                  228U << 10);
      }
      EXPECT_FALSE(choose_fused(90, components, log_n, 3).cluster);
      EXPECT_FALSE(choose_fused(80, components, log_n, 2).cluster);
    }
    EXPECT_FALSE(choose_fused(90, components, 13, 2).cluster);
  }
  EXPECT_TRUE(choose_fused(100, 1, 12, 4).cluster);
  override_fused(nullptr);
}

}  // namespace
