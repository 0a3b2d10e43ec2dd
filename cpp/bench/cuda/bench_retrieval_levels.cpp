// SPDX-License-Identifier: Apache-2.0
#include "cuda/bench_retrieval_levels.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <utility>

#include "backend/cuda/retrieval/fused_tuning.hpp"
#include "backend/cuda/retrieval/row_select_choice.hpp"
#include "cuda/kernel_rig.hpp"
#include "halocline/core/version.hpp"
#include "halocline/ring/automorphism.hpp"

namespace halocline::bench {
namespace {

using backend::digit_split;
using backend::poly_array;
using backend::cuda::fused_choice;
using backend::cuda::row_select_kernel;

/// Parameters, and the database of 1 GiB of records.
struct level_set {
  const char* name;
  unsigned log_n;
  std::uint32_t primes;
  double bits;
  digit_split expand, select;
  std::uint32_t rows, columns;
};
constexpr level_set sets[] = {
    {"n2048", 11, 2, 26.5, {4, 7}, {3, 9}, 512, 820},
    {"n4096", 12, 4, 26.5, {1, 27}, {1, 27}, 512, 171},
    {"paper", 11, 2, 29, {4, 8}, {3, 10}, 512, 631},
};
constexpr std::uint32_t batches[] = {1, 64};
constexpr std::uint32_t sizes[] = {2, 16, 128, 1024};  // children; pairs are half as many
constexpr std::uint32_t most_children = 1024, most_batch = 64;

constexpr std::pair<const char*, fused_choice> fused_variants[] = {
    {"stage, 8 words", {3, true, 0}},
    {"stage, 8 words, a block for a limb", {3, true, 255}},
    {"stage, 16 words, not staged", {4, false, 0}},
    {"stage, cluster", {3, true, 0, true}},
};
/// Of `select_tree`: the second of two siblings in shared memory, or through the second-level cache.
constexpr std::pair<const char*, fused_choice> tree_variants[] = {
    {"subtree, 8 words, in shared memory", {3, true, 0, false, true}},
    {"subtree, 8 words, through the cache", {3, true, 0, false, false}},
};
constexpr std::pair<const char*, row_select_kernel> row_variants[] = {
    {"integer", row_select_kernel::integer},
    {"matrix_4", row_select_kernel::matrix_4},
    {"matrix_8", row_select_kernel::matrix_8},
    {"matrix_16", row_select_kernel::matrix_16},
};

class level_bench {
 public:
  explicit level_bench(const level_set& set)
      : set_(set), rig_(set.log_n, set.primes, set.bits), watch_(rig_.device()) {}

  void levels() {
    const std::uint32_t ciphertexts = most_children * most_batch;
    src_ = array(rig_.random_room(std::size_t{ciphertexts} * two()), two());
    dst_ = array(rig_.room(std::size_t{ciphertexts} * two()), two());
    const std::uint32_t nodes = ciphertexts / 2, terms = set_.primes * set_.expand.digits;
    const std::uint32_t pair_terms = 2 * set_.primes * set_.select.digits;
    const std::size_t digits = std::size_t{nodes} * std::max(terms, pair_terms) * set_.primes;
    digits_ = array(rig_.room(digits), set_.primes);
    turned_ = array(rig_.room(std::size_t{nodes} * two()), two());
    coefficients_ = array(rig_.room(std::size_t{nodes} * two()), set_.primes);
    monomial_ = array(rig_.random_room(set_.primes), set_.primes);
    for (std::uint32_t i = 0; i < most_batch; ++i) {
      const std::uint32_t rows = std::max(terms, backend::most_tree_bits * pair_terms);
      keys_.push_back(array(rig_.random_room(std::size_t{rows} * two()), two()));
      points_.push_back(&rig_.room(std::size_t{most_children} * two()));
    }
    for (const std::uint32_t batch : batches) {
      for (const std::uint32_t size : sizes) expand(batch, size);
      for (const std::uint32_t size : sizes) select(batch, size / 2);
      for (const std::uint32_t size : sizes) {
        if (size >= most_children / 4) {
          for (const std::uint32_t block : {backend::points_per_block, 1U}) expand_last(batch, size, block);
        }
      }
      for (const unsigned bits : {2U, 3U}) {
        for (const std::uint32_t size : sizes) {
          if (size << bits <= most_children) select_tree(batch, size, bits);
        }
      }
    }
  }

  void rows() {
    const std::uint32_t rows = set_.rows, columns = set_.columns;
    backend::row_select_job job{
        {&rig_.random_room(std::size_t{rows} * columns * set_.primes), rows * columns}, rows, columns, {}};
    std::vector<backend::row_query> queries;
    for (std::uint32_t i = 0; i < most_batch; ++i) {
      queries.push_back({{&rig_.random_room(std::size_t{rows} * two()), 2 * rows},
                         array(rig_.room(std::size_t{columns} * two()), two())});
    }
    for (const std::uint32_t batch : {1U, 2U, 3U, 4U, 8U, 16U, 64U}) {
      job.queries.assign(queries.begin(), queries.begin() + batch);
      const double words = rig_.tables().n() * 1.0 * set_.primes;
      const double bytes = 4 * words * (1.0 * rows * columns + 2.0 * batch * (rows + columns));
      const double mads = 2 * words * rows * columns * batch;
      for (const auto& [name, kernel] : row_variants) {
        backend::cuda::override_row_select(&kernel);
        add("row_select", name, batch, columns, bytes, mads,
            [&] { rig_.backend().row_select(rig_.tables(), std::span(&job, 1)); });
        backend::cuda::override_row_select(nullptr);
      }
    }
  }
  [[nodiscard]] std::vector<level_row> result() && { return std::move(rows_); }

 private:
  [[nodiscard]] std::uint32_t two() const { return 2 * set_.primes; }
  static poly_array array(const memory::buffer& data, std::uint32_t stride) { return {&data, 0, stride}; }

  void add(const char* op, const char* variant, std::uint32_t batch, std::uint32_t size, double bytes,
           double mads, const std::function<void()>& body) {
    const bool is_long = mads > 2e9;  // about a millisecond
    rows_.push_back(
        {set_.name, op, variant, batch, size,
         watch_.time(body, {.samples = is_long ? 5U : 21U, .calls = is_long ? 1U : 2U, .warm_up = 1}), bytes,
         mads});
    const timing& time = rows_.back().time;
    std::printf("%-6s %-11s %-36s batch %2u size %4u  %10.2f us  %.2f TB/s  %.2f Tmad/s\n", set_.name, op,
                variant, batch, size, time.median_us, bytes / time.median_us * 1e-6,
                mads / time.median_us * 1e-6);
  }
  /// Times fused kernels in all variants.
  void fused(const char* op, std::uint32_t batch, std::uint32_t size, double bytes, double mads,
             const std::function<void()>& body) {
    for (const auto& [name, choice] : fused_variants) {
      backend::cuda::override_fused(&choice);
      add(op, name, batch, size, bytes, mads, body);
      backend::cuda::override_fused(nullptr);
    }
  }
  /// Multiplications of a node: three for each butterfly, two for each word of a digit.
  [[nodiscard]] double node_mads(double inverse, double forward, double products) const {
    const double n = static_cast<double>(rig_.tables().n());
    return n * (1.5 * set_.log_n * (inverse + forward) + 2 * products);
  }

  void expand(std::uint32_t batch, std::uint32_t children) {
    const auto& ring = rig_.tables();
    backend::backend& on = rig_.backend();
    const std::uint32_t parents = children / 2, primes = set_.primes, terms = primes * set_.expand.digits;
    const auto element = static_cast<std::uint32_t>(2 * (ring.n() / children) + 1);
    const memory::buffer& permutation = rig_.keep(ring::automorphism_permutation(element, set_.log_n));
    std::vector<backend::expand_job> stage;
    std::vector<backend::digit_product_job> products;
    const poly_array second{src_.data, primes, two()};
    for (std::uint32_t i = 0; i < batch; ++i) {
      stage.push_back({dst_.from(i * children), src_.from(i * parents), keys_[i], monomial_, &permutation,
                       children, set_.expand});
      products.push_back({turned_.from(i * parents),
                          digits_.from(i * parents * terms),
                          keys_[i],
                          terms,
                          parents,
                          src_.from(i * parents),
                          {},
                          &permutation});
    }
    const std::uint32_t nodes = batch * parents;
    const backend::array_job inverse{coefficients_, second, nodes};
    const backend::split_job split{digits_, coefficients_, nodes, set_.expand};
    const backend::array_job forward{digits_, digits_, nodes * terms};
    const backend::children_job both{dst_, src_, turned_, monomial_, 2 * nodes};
    const double limb = static_cast<double>(ring.limb_bytes());
    const double bytes = limb * primes * (6.0 * nodes + 2.0 * batch * terms);
    const double transforms = terms * primes - (set_.expand.digits == 1 ? primes : 0);
    const double mads = nodes * node_mads(primes, transforms, terms * primes);
    add("expand", "operations", batch, children, bytes, mads, [&] {
      on.array_intt(ring, std::span(&inverse, 1));
      on.split_digits(ring, std::span(&split, 1));
      on.array_ntt(ring, std::span(&forward, 1));
      on.digit_product(ring, products);
      on.expand_children(ring, std::span(&both, 1));
    });
    fused("expand", batch, children, bytes, mads, [&] { on.expand_node(ring, stage); });
  }

  /// The last level, whose children become rows of blocks of 32 points, or of one point: by a pass of its
  /// own, or by the level.
  void expand_last(std::uint32_t batch, std::uint32_t children, std::uint32_t block) {
    const auto& ring = rig_.tables();
    backend::backend& on = rig_.backend();
    const std::uint32_t parents = children / 2, primes = set_.primes, terms = primes * set_.expand.digits;
    const auto element = static_cast<std::uint32_t>(2 * (ring.n() / children) + 1);
    const memory::buffer& permutation = rig_.keep(ring::automorphism_permutation(element, set_.log_n));
    std::vector<backend::expand_job> plain, turned;
    std::vector<backend::turn_job> turns;
    for (std::uint32_t i = 0; i < batch; ++i) {
      plain.push_back({dst_.from(i * children), src_.from(i * parents), keys_[i], monomial_, &permutation,
                       children, set_.expand});
      turned.push_back(plain.back());
      turned.back().dst = {};
      turned.back().points = {points_[i], 2 * children, block};
      turned.back().turned = children;
      const poly_array leaves{dst_.data, i * children * two(), primes};
      turns.push_back({turned.back().points, 0, 1, leaves, 2 * children});
    }
    const std::uint32_t nodes = batch * parents;
    const double bytes =
        static_cast<double>(ring.limb_bytes()) * primes * (6.0 * nodes + 2.0 * batch * terms);
    const double transforms = terms * primes - (set_.expand.digits == 1 ? primes : 0);
    const double mads = nodes * node_mads(primes, transforms, terms * primes);
    const std::string of = block == 1 ? ", point-major" : "";
    add("expand_last", ("stage and a pass" + of).c_str(), batch, children, bytes, mads, [&] {
      on.expand_node(ring, plain);
      on.turn_points(ring, turns);
    });
    add("expand_last", ("stage that turns" + of).c_str(), batch, children, bytes, mads,
        [&] { on.expand_node(ring, turned); });
  }

  /// `bits` levels that leave `kept` ciphertexts of each client.
  void select_tree(std::uint32_t batch, std::uint32_t kept, unsigned bits) {
    const auto& ring = rig_.tables();
    backend::backend& on = rig_.backend();
    const std::uint32_t primes = set_.primes, terms = 2 * primes * set_.select.digits, columns = kept << bits;
    std::vector<std::vector<backend::select_job>> levels(bits);
    std::vector<backend::select_tree_job> trees;
    for (std::uint32_t i = 0; i < batch; ++i) {
      const poly_array data = src_.from(i * columns);
      trees.push_back({data, keys_[i], columns, kept, bits, set_.select});
      for (unsigned bit = bits; bit-- > 0;) {
        const std::uint32_t pairs = kept << bit;
        levels[bits - 1 - bit].push_back(
            {data, data, data.from(pairs), keys_[i].from(bit * terms), pairs, set_.select});
      }
    }
    const double nodes = 1.0 * batch * (columns - kept);
    const double bytes = static_cast<double>(ring.limb_bytes()) * primes * 2 *
                         (1.0 * batch * (columns + kept) + 1.0 * batch * bits * terms);
    const double transforms = terms * primes - (set_.select.digits == 1 ? 2.0 * primes : 0);
    const double mads = nodes * node_mads(2.0 * primes, transforms, terms * primes);
    const std::string name = "select_" + std::to_string(bits);
    add(name.c_str(), "stage, a kernel for each level", batch, kept, bytes, mads, [&] {
      for (const auto& level : levels) on.select_pair(ring, level);
    });
    for (const auto& [variant, choice] : tree_variants) {
      if (choice.inner && set_.log_n != 11) continue;  // no room
      backend::cuda::override_fused(&choice);
      add(name.c_str(), variant, batch, kept, bytes, mads, [&] { on.select_tree(ring, trees); });
      backend::cuda::override_fused(nullptr);
    }
  }

  void select(std::uint32_t batch, std::uint32_t pairs) {
    const auto& ring = rig_.tables();
    backend::backend& on = rig_.backend();
    const std::uint32_t primes = set_.primes, terms = 2 * primes * set_.select.digits, nodes = batch * pairs;
    const poly_array y = src_.from(nodes);
    std::vector<backend::select_job> stage;
    std::vector<backend::digit_product_job> products;
    for (std::uint32_t i = 0; i < batch; ++i) {
      const poly_array x = src_.from(i * pairs);
      stage.push_back({x, x, y.from(i * pairs), keys_[i], pairs, set_.select});
      products.push_back({x,
                          digits_.from(i * pairs * terms),
                          keys_[i],
                          terms,
                          pairs,
                          x,
                          {x.data, x.first + primes, x.stride}});
    }
    const backend::array_sub_job difference{turned_, y, src_, nodes};
    const backend::array_job inverse{coefficients_, {turned_.data, 0, primes}, 2 * nodes};
    const backend::split_job split{digits_, coefficients_, 2 * nodes, set_.select};
    const backend::array_job forward{digits_, digits_, nodes * terms};
    const double limb = static_cast<double>(ring.limb_bytes());
    const double bytes = limb * primes * (6.0 * nodes + 2.0 * batch * terms);
    const double transforms = terms * primes - (set_.select.digits == 1 ? 2.0 * primes : 0);
    const double mads = nodes * node_mads(2.0 * primes, transforms, terms * primes);
    add("select", "operations", batch, pairs, bytes, mads, [&] {
      on.array_sub(ring, std::span(&difference, 1));
      on.array_intt(ring, std::span(&inverse, 1));
      on.split_digits(ring, std::span(&split, 1));
      on.array_ntt(ring, std::span(&forward, 1));
      on.digit_product(ring, products);
    });
    fused("select", batch, pairs, bytes, mads, [&] { on.select_pair(ring, stage); });
  }

  const level_set& set_;
  kernel_rig rig_;
  stopwatch watch_;
  poly_array src_, dst_, digits_, turned_, coefficients_, monomial_;
  std::vector<poly_array> keys_;
  std::vector<const memory::buffer*> points_;  ///< of each client
  std::vector<level_row> rows_;
};

}  // namespace

std::vector<level_row> time_levels(const std::string& set) {
  std::vector<level_row> all;
  for (const level_set& each : sets) {
    if (set != each.name) continue;
    for (const bool levels : {true, false}) {  // one after the other: both need tens of gigabytes
      level_bench bench(each);
      levels ? bench.levels() : bench.rows();
      const std::vector<level_row> made = std::move(bench).result();
      all.insert(all.end(), made.begin(), made.end());
    }
  }
  return all;
}

void write_levels(const std::string& file, const std::string& driver, const std::vector<level_row>& rows) {
  std::ofstream out(file);
  out << "{\n  \"schema\": 1,\n  \"suite\": \"retrieval_levels\",\n  \"driver\": \"" << driver
      << "\",\n  \"commit\": \"" << commit() << "\",\n  \"rows\": [";
  const char* separator = "\n";
  for (const level_row& each : rows) {
    out << separator << "    {\"set\": \"" << each.set << "\", \"op\": \"" << each.op << "\", \"variant\": \""
        << each.variant << "\", \"batch\": " << each.batch << ", \"size\": " << each.size
        << ", \"median_us\": " << each.time.median_us << ", \"shortest_us\": " << each.time.shortest_us
        << ", \"samples\": " << each.time.samples << ", \"bytes\": " << each.bytes
        << ", \"mads\": " << each.mads << "}";
    separator = ",\n";
  }
  out << "\n  ]\n}\n";
}

}  // namespace halocline::bench
