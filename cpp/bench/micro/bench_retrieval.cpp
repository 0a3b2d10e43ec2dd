// SPDX-License-Identifier: Apache-2.0
// Operations of private retrieval on one thread, by parameter set: `paper` (N = 2048, two primes near 2^29,
// 512 rows, 4 digits of 8 bits in expansions and 3 of 10 in selections) and `n4096` (four primes near 2^26.5,
// one digit). Rows are streamed from a database of 1 GiB in memory, which no cache holds; `stream/sum` adds
// the words of 2 GiB, the pace of memory for one core.
#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "halocline/backend/retrieval_jobs.hpp"
#include "halocline/ring/automorphism.hpp"
#include "ring_bench_rig.hpp"

namespace {

using namespace halocline;
using bench::ring_bench_rig;

/// A parameter set, as far as operations see it.
struct setting {
  const char* name;
  unsigned log_n;
  std::uint32_t primes;
  double prime_bits;
  std::uint32_t rows;
  backend::digit_split expand, select;
};
constexpr setting settings[] = {{"paper", 11, 2, 29, 512, {4, 8}, {3, 10}},
                                {"n4096", 12, 4, 26.5, 256, {1, 27}, {1, 27}}};

/// A ring of a set, and arrays in it.
class retrieval_bench {
 public:
  explicit retrieval_bench(const setting& with)
      : with_(with), rig_(32, with.log_n, with.primes, 1, "cpu", with.prime_bits) {}

  [[nodiscard]] ring_bench_rig& rig() { return rig_; }
  [[nodiscard]] std::size_t words(std::uint32_t polynomials) const {
    return std::size_t{polynomials} * with_.primes << with_.log_n;
  }
  /// Residues of all primes, as random as speed needs.
  [[nodiscard]] const memory::buffer& residues(std::uint32_t polynomials) {
    const auto smallest = static_cast<std::uint32_t>(
        *std::min_element(rig_.tables().primes.begin(), rig_.tables().primes.end()));
    std::vector<std::uint32_t> values(words(polynomials));
    std::uint32_t state = 1;
    for (std::uint32_t& x : values) x = (state = state * 1664525 + 1013904223) % smallest;
    return rig_.keep(values);
  }
  [[nodiscard]] backend::poly_array pairs(std::uint32_t count) {
    return {&residues(2 * count), 0, 2 * with_.primes};
  }
  [[nodiscard]] backend::poly_array singles(std::uint32_t count) {
    return {&residues(count), 0, with_.primes};
  }

 private:
  setting with_;
  ring_bench_rig rig_;
};

/// One node with two children.
void expand_node(benchmark::State& state, const setting& with) {
  retrieval_bench on(with);
  constexpr std::uint32_t nodes = 32;
  const auto permutation = ring::automorphism_permutation((std::uint64_t{1} << with.log_n) + 1, with.log_n);
  const backend::expand_job job{on.pairs(2 * nodes),
                                on.pairs(nodes),
                                on.pairs(with.primes * with.expand.digits),
                                on.singles(1),
                                &on.rig().keep(permutation),
                                2 * nodes,
                                with.expand};
  for (auto _ : state) on.rig().device().expand_node(on.rig().tables(), {&job, 1});
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * nodes);
}

void select_pair(benchmark::State& state, const setting& with) {
  retrieval_bench on(with);
  constexpr std::uint32_t pairs = 32;
  const backend::select_job job{on.pairs(pairs), on.pairs(pairs),
                                on.pairs(pairs), on.pairs(2 * with.primes * with.select.digits),
                                pairs,           with.select};
  for (auto _ : state) on.rig().device().select_pair(on.rig().tables(), {&job, 1});
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * pairs);
}

/// Bytes: words of the database. Items: products of words that are added.
void row_select(benchmark::State& state, const setting& with, std::uint32_t queries) {
  retrieval_bench on(with);
  const auto columns = static_cast<std::uint32_t>((std::size_t{1} << 28) / on.words(with.rows));
  backend::row_select_job job{
      {&on.residues(with.rows * columns), with.rows * columns}, with.rows, columns, {}};
  for (std::uint32_t i = 0; i < queries; ++i) {
    job.queries.push_back({{&on.residues(2 * with.rows), 2 * with.rows}, on.pairs(columns)});
  }
  for (auto _ : state) on.rig().device().row_select(on.rig().tables(), {&job, 1});
  const auto words = static_cast<std::int64_t>(on.words(with.rows * columns) * state.iterations());
  state.SetBytesProcessed(4 * words);
  state.SetItemsProcessed(2 * words * queries);
}

/// From bytes to a plaintext in the database.
void unpack_plain(benchmark::State& state, const setting& with) {
  retrieval_bench on(with);
  constexpr unsigned bits = 13;
  constexpr std::uint32_t count = 64;
  const std::uint32_t bytes = (bits << with.log_n) / 8;
  const std::vector<std::uint8_t> packed(std::size_t{bytes} * count, 0x5a);
  const backend::unpack_job job{on.singles(count),
                                &on.rig().keep(packed),
                                0,
                                bytes,
                                bytes,
                                count,
                                bits,
                                std::vector<std::uint64_t>(with.primes, 12345)};
  for (auto _ : state) on.rig().device().unpack_plain(on.rig().tables(), {&job, 1});
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * packed.size()));
}

void stream_sum(benchmark::State& state) {
  ring_bench_rig rig(32, 11, 2, 1);
  constexpr std::size_t words = std::size_t{1} << 28;
  std::vector<std::uint64_t> data(words);
  std::iota(data.begin(), data.end(), 1);
  for (auto _ : state) benchmark::DoNotOptimize(std::accumulate(data.begin(), data.end(), std::uint64_t{0}));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * words * sizeof(data[0])));
}

const bool registered = [] {
  const auto add = [](const std::string& name, const auto& run) {
    benchmark::RegisterBenchmark(("retrieval/" + name).c_str(), run)->Unit(benchmark::kMicrosecond);
  };
  for (const setting& with : settings) {
    const std::string suffix = std::string("/") + with.name;
    add("expand_node_32" + suffix, [&with](benchmark::State& state) { expand_node(state, with); });
    add("select_pair_32" + suffix, [&with](benchmark::State& state) { select_pair(state, with); });
    add("unpack_plain_64" + suffix, [&with](benchmark::State& state) { unpack_plain(state, with); });
    for (const std::uint32_t queries : {1U, 4U}) {
      add("row_select_" + std::to_string(queries) + suffix,
          [&with, queries](benchmark::State& state) { row_select(state, with, queries); });
    }
  }
  add("stream/sum", stream_sum);
  return true;
}();

}  // namespace
