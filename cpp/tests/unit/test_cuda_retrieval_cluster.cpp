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
  void read() {}
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
  /// @param cluster barriers of all threads: coefficients are there, and are read no more
  thread_team(std::uint32_t thread, std::uint32_t block, group_barriers& groups,
              std::deque<std::barrier<>>& cluster)
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
  void ready() { ready_.emplace(cluster_[0].arrive()); }
  void wait_ready() { cluster_[0].wait(std::move(*ready_)); }
  void read() { read_.emplace(cluster_[1].arrive()); }
  void wait_read() { cluster_[1].wait(std::move(*read_)); }

 private:
  std::uint32_t thread_;
  std::minstd_rand random_;
  group_barriers& groups_;
  std::deque<std::barrier<>>& cluster_;
  std::optional<std::barrier<>::arrival_token> ready_, read_;
  fused_state<ShapeT> own_{};
};

enum class turns { rising, falling, free };

/// Shared memory of the blocks of a cluster.
template <typename ShapeT>
struct host_cluster {
  std::vector<std::vector<std::uint32_t>> memory;
  std::vector<std::uint32_t*> areas;
  std::vector<const std::uint32_t*> first;

  explicit host_cluster(const fused_params& p)
      : memory(p.limbs, std::vector<std::uint32_t>(
                            cluster_shared_words(ShapeT::components, p.log_n, p.digits) + 4, 0xdeadbeef)) {
    for (auto& each : memory) {
      areas.push_back(reinterpret_cast<std::uint32_t*>((reinterpret_cast<std::uintptr_t>(each.data()) + 15) &
                                                       ~std::uintptr_t{15}));
    }
    first.assign(areas.begin(), areas.end());
  }
};

/// One phase after the other; blocks take turns in one of both orders.
template <typename ShapeT>
void run_phases(const fused_params& p, std::uint32_t node, bool falling) {
  host_cluster<ShapeT> cluster(p);
  std::vector<cluster_block<ShapeT>> blocks;
  for (std::uint32_t i = 0; i < p.limbs; ++i)
    blocks.push_back(cluster_find<ShapeT>(p, node, i, cluster.areas[i], cluster.first.data()));
  std::vector<host_team<ShapeT>> teams(p.limbs, {blocks[0].threads(), falling});
  std::vector<cluster_progress> at(p.limbs);
  const auto phase = [&](const auto& body) {
    for (std::uint32_t i = 0; i < p.limbs; ++i) body(falling ? p.limbs - 1 - i : i);
  };
  phase([&](std::uint32_t b) { cluster_begin(blocks[b], teams[b], at[b]); });
  for (std::uint32_t each = 0; each < p.limbs; ++each)
    phase([&](std::uint32_t b) { cluster_limb(blocks[b], teams[b], at[b], each); });
  phase([&](std::uint32_t b) { cluster_end(blocks[b], teams[b]); });
}

/// All threads of all blocks of cluster number `number` at once.
template <typename ShapeT>
void run_free(const fused_params& p, std::uint32_t number) {
  host_cluster<ShapeT> cluster(p);
  const std::uint32_t threads = 1U << (p.log_n - cluster_e);
  std::deque<std::barrier<>> all;
  for (int i = 0; i < 2; ++i) all.emplace_back(static_cast<std::ptrdiff_t>(p.limbs) * threads);
  std::deque<group_barriers> groups;
  for (std::uint32_t b = 0; b < p.limbs; ++b) groups.emplace_back(threads);
  std::vector<std::jthread> running;
  for (std::uint32_t i = 0; i < p.limbs * threads; ++i) {
    running.emplace_back([&, i] {
      const std::uint32_t rank = i / threads;
      thread_team<ShapeT> team(i % threads, rank, groups[rank], all);
      cluster_nodes<ShapeT>(p, number * p.limbs + rank, cluster.areas[rank], cluster.first.data(), team);
    });
  }
}

template <typename ShapeT>
void run_clusters(fused_params& p, turns order) {
  ASSERT_TRUE(ShapeT::k == 0 || ShapeT::k == p.log_n);
  if (order == turns::free) {
    p.run = 2;
    for (std::uint32_t i = 0; i < (p.nodes + 1) / 2; ++i) run_free<ShapeT>(p, i);
  } else {
    for (std::uint32_t node = 0; node < p.nodes; ++node) run_phases<ShapeT>(p, node, order == turns::falling);
  }
}

template <typename SizeT>
class CudaRetrievalCluster : public cuda_fused_rig {
 protected:
  template <unsigned components, unsigned headroom>
  using shape = cluster_shape<SizeT::value, components, headroom>;

  /// Runs the kernel that the ring takes.
  template <unsigned components>
  void run(fused_params& p, turns order) {
    const auto& primes = host_->primes;
    const unsigned headroom = cluster_headroom(*std::max_element(primes.begin(), primes.end()));
    if (headroom == 5) {
      run_clusters<shape<components, 5>>(p, order);
    } else if (headroom == 3) {
      run_clusters<shape<components, 3>>(p, order);
    } else {
      run_clusters<shape<components, 2>>(p, order);
    }
  }

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
                                      [&](fused_params& p) { this->template run<1>(p, order); });
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
                                      [&](fused_params& p) { this->template run<2>(p, order); });
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
  this->begin(log_n, {29, 29});
  this->expand({3}, {4, 8}, turns::rising);
  this->select({2}, {3, 10}, true, turns::rising);
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
  this->begin(log_n, {29, 29});
  this->expand({5, 1}, {4, 8}, turns::rising, 3);
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
    for (const double bits : {30.0, 29.0, 27.0}) {  // the largest of each kernel
      begin(log_n, {bits, bits});
      expand({2}, {1, 30}, turns::rising);
      expand({1}, {8, 4}, turns::falling);
      select({3}, {8, 4}, false, turns::falling);
    }
  }
}

/// A thread that is early or late finds what it needs, and disturbs no other one: the barriers of groups of
/// threads and of the cluster suffice.
TEST_F(CudaRetrievalClusterAny, ThreadsNeedNoMoreBarriers) {
  for (int i = 0; i < 4; ++i) {
    begin(7, {26.5, 26.5});
    expand({5, 4}, {2, 14}, turns::free);
    expand({3}, {2, 14}, turns::free, 2, 1);
    select({2, 1}, {2, 14}, true, turns::free);
    begin(6, {26.5, 26.5, 26.5, 26.5});
    expand({4}, {1, 27}, turns::free, 3);
    select({2}, {1, 27}, true, turns::free);
  }
}

/// A cluster has several nodes only where each place has several clusters.
TEST(CudaRetrievalClusterPlan, RunsOfNodes) {
  EXPECT_EQ(cluster_run(1, 66), 1U);
  EXPECT_EQ(cluster_run(4 * 66 * 2 - 1, 66), 1U);
  EXPECT_EQ(cluster_run(4 * 66 * 2, 66), 2U);
  EXPECT_EQ(cluster_run(32768, 66), 16U);
}

/// Rings without such kernels keep the others.
TEST(CudaRetrievalClusterPlan, ChoosesWhereThereAreKernels) {
  const fused_choice wanted{3, true, 0, true};
  override_fused(&wanted);
  for (const unsigned components : {1U, 2U}) {
    for (const unsigned log_n : {11U, 12U}) {
      for (const std::uint32_t limbs : {2U, 4U}) {
        EXPECT_TRUE(choose_fused(90, components, log_n, limbs).cluster);
        const std::uint32_t digits =
            log_n == 11 ? 2 : 1;  // of the parameter sets; more still find room for one block
        const std::uint32_t bytes = 4 * cluster_shared_words(components, log_n, digits);
        EXPECT_LE(cluster_blocks(log_n, components) * (bytes + 1024), 228U << 10);
        EXPECT_LE(4 * cluster_shared_words(components, log_n, 8), most_fused_bytes(90));
      }
      EXPECT_FALSE(choose_fused(90, components, log_n, 3).cluster);
      EXPECT_FALSE(choose_fused(80, components, log_n, 2).cluster);
    }
    EXPECT_FALSE(choose_fused(90, components, 13, 2).cluster);
  }
  EXPECT_FALSE(choose_fused(80, 1, 12, 4).cluster);
  EXPECT_TRUE(choose_fused(100, 1, 12, 4).cluster);
  override_fused(nullptr);
}

}  // namespace
