// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "backend/cpu/client_kernels.hpp"
#include "backend/cpu/kernel_set.hpp"
#include "backend/cpu/parallel.hpp"
#include "backend/cpu/resolve.hpp"
#include "backend/op_table.hpp"

/// Batches to kernels: flattens every batch into independent items (a limb, or a chunk of one), resolves
/// pointers up front and runs the items in one parallel loop.
namespace halocline::backend::cpu {

/// Words of a limb that one item of an elementwise batch covers: small enough to share a few limbs evenly
/// among threads, large enough that an item costs microseconds.
inline constexpr std::size_t chunk_words = std::size_t{1} << 13;

/// Where the batches of one step run, for one word type.
template <typename WordT>
struct executor {
  const kernel_set<WordT>& kernels;
  worker_pool& pool;
  client_site client;
  resolver<WordT> resolve;

  executor(const kernel_set<WordT>& kernels, worker_pool& pool, const ring_tables& ring,
           const memory::access& at, bool scalar)
      : kernels(kernels), pool(pool), client{pool, ring, at, scalar}, resolve(ring, at) {}

  /// Calls `body(job, limb, prime)` for every limb of every job, limbs of the same prime one after the other
  /// so that its tables stay in the second-level cache. `weight`: limbs touched per limb of the view.
  template <typename JobT, typename BodyT>
  void for_each_limb(std::span<const JobT> jobs, limb_view JobT::*view, std::size_t weight,
                     const BodyT& body) const {
    auto items = flatten(jobs, view);
    std::stable_sort(items.begin(), items.end(),
                     [](const auto& a, const auto& b) { return a.prime < b.prime; });
    parallel_for(pool, items.size(), items.size() * weight * resolve.n(),
                 [&](std::size_t i) { body(*items[i].job, items[i].limb, items[i].prime); });
  }

  /// Calls `body(job, limb, prime, range)` for every chunk of every limb of every job.
  template <typename JobT, typename BodyT>
  void for_each_chunk(std::span<const JobT> jobs, limb_view JobT::*view, std::size_t weight,
                      const BodyT& body) const {
    const auto items = flatten(jobs, view);
    const std::size_t size = std::min(chunk_words, resolve.n());
    const std::size_t chunks = resolve.n() / size;
    parallel_for(pool, items.size() * chunks, items.size() * weight * resolve.n(), [&](std::size_t i) {
      const auto& each = items[i / chunks];
      body(*each.job, each.limb, each.prime, word_range{(i % chunks) * size, size});
    });
  }

 private:
  /// One limb of one job.
  template <typename JobT>
  struct item {
    const JobT* job;
    std::uint32_t limb;   ///< number within the view
    std::uint32_t prime;  ///< index in the ring
  };
  template <typename JobT>
  [[nodiscard]] static std::vector<item<JobT>> flatten(std::span<const JobT> jobs, limb_view JobT::*view) {
    std::vector<item<JobT>> items;
    for (const JobT& job : jobs) {
      const window primes = (job.*view).primes;
      for (std::uint32_t i = 0; i < primes.count; ++i) items.push_back({&job, i, primes.first + i});
    }
    return items;
  }
};

/// What the backend has, by the file that has it: exec_elementwise.cpp, exec_rns.cpp, exec_key_dot.cpp,
/// exec_client.cpp, exec_matrix.cpp.
template <typename WordT>
[[nodiscard]] op_table<executor<WordT>> elementwise_operations();
template <typename WordT>
[[nodiscard]] op_table<executor<WordT>> rns_operations();
template <typename WordT>
[[nodiscard]] op_table<executor<WordT>> key_dot_operations();
template <typename WordT>
[[nodiscard]] op_table<executor<WordT>> client_operations();
template <typename WordT>
[[nodiscard]] op_table<executor<WordT>> matrix_operations();
/// exec_retrieval.cpp: 32-bit words only.
[[nodiscard]] op_table<executor<std::uint32_t>> retrieval_operations();

}  // namespace halocline::backend::cpu
