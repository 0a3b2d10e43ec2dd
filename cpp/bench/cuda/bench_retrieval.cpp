// SPDX-License-Identifier: Apache-2.0
// The operations of private retrieval on arrays, with their floors.
#include "cuda/bench_retrieval.hpp"

#include <algorithm>
#include <cstdio>

#include "backend/cuda/retrieval/retrieval_tuning.hpp"
#include "backend/cuda/retrieval/row_select_choice.hpp"
#include "halocline/ring/automorphism.hpp"

namespace halocline::bench {
namespace {

using backend::poly_array;
using backend::cuda::override_retrieval_tuning;
using backend::cuda::retrieval_tuning;

/// Bytes of random residues that arrays repeat: more than the second-level cache holds.
constexpr std::size_t pattern_bytes = std::size_t{128} << 20;
/// Entries of an array of each client, where the set does not say.
constexpr std::uint32_t entries = 256;

constexpr retrieval_shape sets[] = {
    {"paper", 11, 2, 29, 512, 631, {4, 8}, {22, 22}, 13},
    {"pir-n4096", 12, 4, 26.5, 256, 342, {1, 27}, {32, 32}, 24},
};

}  // namespace

retrieval_bench::retrieval_bench(const retrieval_shape& shape, const rates& peak)
    : shape_(shape),
      peak_(peak),
      rig_(shape.log_n, shape.primes, shape.bits),
      watch_(rig_.device()),
      pattern_(pattern_bytes / sizeof(kernel_rig::word)) {
  // Below the smallest prime, so that a word is a residue in every limb.
  const std::vector<std::uint64_t>& primes = rig_.tables().primes;
  const std::uint64_t least = *std::min_element(primes.begin(), primes.end());
  for (auto& word : pattern_) word = static_cast<kernel_rig::word>(rig_.random() % least);
}

double retrieval_bench::polynomial_bytes() const {
  return static_cast<double>(shape_.primes * rig_.tables().limb_bytes());
}
double retrieval_bench::points_of_ring() const { return polynomial_bytes() / sizeof(kernel_rig::word); }

const memory::buffer& retrieval_bench::filled(std::size_t bytes) {
  memory::buffer data =
      rig_.backend().runtime().allocate(bytes, memory::object_class::scratch, "retrieval bench");
  const auto pattern = std::as_bytes(std::span(pattern_));
  const std::size_t first = std::min(bytes, pattern.size());
  rig_.backend().upload(data, 0, pattern.first(first));
  const std::vector<memory::operand> all{{&data, 0, bytes}};
  const memory::access at = rig_.backend().runtime().acquire(all, all, "fill", {});
  std::byte* const begin = at.pointer(data);
  for (std::size_t done = first; done < bytes; done += first) {
    backend::cuda::check(cudaMemcpyAsync(begin + done, begin, std::min(first, bytes - done),
                                         cudaMemcpyDeviceToDevice, rig_.device().compute()),
                         "fill");
  }
  return kept_.emplace_back(std::move(data));
}

std::vector<poly_array> retrieval_bench::arrays(std::uint32_t count, std::uint32_t polynomials) {
  const std::uint32_t stride = polynomials * shape_.primes;
  const memory::buffer& data = filled(std::size_t{batch_} * count * stride * rig_.tables().limb_bytes());
  std::vector<poly_array> made;
  for (std::uint32_t client = 0; client < batch_; ++client) {
    made.push_back({&data, client * count * stride, stride});
  }
  return made;
}

backend::point_matrix retrieval_bench::matrix(std::uint32_t rows) {
  return {&filled(static_cast<std::size_t>(polynomial_bytes()) * rows), rows};
}

std::vector<std::uint64_t> retrieval_bench::factors() {
  std::vector<std::uint64_t> made;
  for (std::uint32_t l = 0; l < shape_.primes; ++l) made.push_back(rig_.residue(l));
  return made;
}

void retrieval_bench::measure(const char* op, const std::string& variant, const cost& of,
                              const std::function<void()>& body) {
  const double slowest = of.bytes / peak_.bytes + of.mads / peak_.mads;
  const timing_options options = slowest > 2e-3 ? timing_options{5, 2, 1} : timing_options{};
  retrieval_row row{op, variant, shape_.set, batch_, watch_.time(body, options), of.bytes, 0, 0};
  row.byte_floor_us = 1e6 * of.bytes / peak_.bytes;
  row.integer_floor_us = 1e6 * (of.mads / peak_.mads + of.butterflies / peak_.butterflies);
  rows_->push_back(row);
  const double floor = std::max(row.byte_floor_us, row.integer_floor_us);
  std::printf("%-10s %-3u %-16s %-16s %10.2f us  bytes %9.1f us  integers %9.1f us  x%.2f\n", shape_.set,
              batch_, op, variant.c_str(), row.time.median_us, row.byte_floor_us, row.integer_floor_us,
              row.time.median_us / floor);
}

void retrieval_bench::run(std::uint32_t batch, std::vector<retrieval_row>& rows) {
  batch_ = batch;
  rows_ = &rows;
  for (void (retrieval_bench::*const part)() :
       {&retrieval_bench::transforms, &retrieval_bench::maps, &retrieval_bench::digits,
        &retrieval_bench::points, &retrieval_bench::answers, &retrieval_bench::select}) {
    (this->*part)();
    rig_.device().wait();
    kept_.clear();
  }
}

/// From one array to another.
void retrieval_bench::transforms() {
  const auto src = arrays(2 * entries, 1), dst = arrays(2 * entries, 1);
  std::vector<backend::array_job> jobs;
  for (std::uint32_t i = 0; i < batch_; ++i) jobs.push_back({dst[i], src[i], 2 * entries});
  const double polynomials = 2.0 * entries * batch_;
  const cost of{2 * polynomials * polynomial_bytes(), 0, polynomials * points_of_ring() / 2 * shape_.log_n};
  for (const bool near : {false, true}) {
    for (const std::uint32_t polys : {1U, 4U}) {
      retrieval_tuning tuning;
      tuning.near_twiddles = near;
      tuning.transform_polys = polys;
      override_retrieval_tuning(&tuning);
      const std::string variant = std::string(near ? "near" : "far") + ", " + std::to_string(polys);
      measure("array_ntt", variant, of, [&] { rig_.backend().array_ntt(rig_.tables(), jobs); });
      measure("array_intt", variant, of, [&] { rig_.backend().array_intt(rig_.tables(), jobs); });
      override_retrieval_tuning(nullptr);
    }
  }
}

void retrieval_bench::maps() {
  const auto a = arrays(entries, 2), b = arrays(entries, 2), dst = arrays(entries, 2);
  const auto wide = arrays(2 * entries, 2), monomial = arrays(1, 1);
  const std::vector<std::uint64_t> constants = factors();
  std::vector<backend::array_sub_job> differences;
  std::vector<backend::array_scale_job> scaled;
  std::vector<backend::children_job> children;
  for (std::uint32_t i = 0; i < batch_; ++i) {
    differences.push_back({dst[i], a[i], b[i], entries});
    scaled.push_back({dst[i], a[i], entries, constants});
    children.push_back({wide[i], a[i], b[i], monomial[i], 2 * entries});
  }
  const double bytes = 2.0 * entries * batch_ * polynomial_bytes(), words = bytes / 4;
  measure("array_sub", "", {3 * bytes, 0}, [&] { rig_.backend().array_sub(rig_.tables(), differences); });
  measure("array_scale", "", {2 * bytes, 1.5 * words},
          [&] { rig_.backend().array_scale(rig_.tables(), scaled); });
  measure("expand_children", "", {4 * bytes, 2.5 * words},
          [&] { rig_.backend().expand_children(rig_.tables(), children); });
}

void retrieval_bench::digits() {
  const std::uint32_t terms = shape_.primes * shape_.split.digits;
  const auto src = arrays(entries, 1), made = arrays(entries * terms, 1), rows = arrays(terms, 2);
  const auto plus = arrays(entries, 1), dst = arrays(entries, 2);
  const memory::buffer& permutation =
      rig_.keep(ring::automorphism_permutation(rig_.tables().n() / 16 + 1, shape_.log_n));
  std::vector<backend::split_job> splits;
  std::vector<backend::digit_product_job> products;
  for (std::uint32_t i = 0; i < batch_; ++i) {
    splits.push_back({made[i], src[i], entries, shape_.split});
    products.push_back({dst[i], made[i], rows[i], terms, entries, plus[i], {}, &permutation});
  }
  const double polynomials = double{entries} * batch_, words = polynomials * points_of_ring();
  measure("split_digits", "", {polynomials * (1 + terms) * polynomial_bytes(), 0},
          [&] { rig_.backend().split_digits(rig_.tables(), splits); });
  const double read = polynomials * (terms + 3) + 2.0 * terms * batch_;
  measure("digit_product", "turned", {read * polynomial_bytes(), 2 * words * (terms + 1.5)},
          [&] { rig_.backend().digit_product(rig_.tables(), products); });
  for (auto& job : products) job.permutation = nullptr;
  measure("digit_product", "", {read * polynomial_bytes(), 2 * words * (terms + 1.5)},
          [&] { rig_.backend().digit_product(rig_.tables(), products); });
}

void retrieval_bench::points() {
  const auto src = arrays(2 * shape_.rows, 1);
  std::vector<backend::turn_job> jobs;
  for (const poly_array& each : src) jobs.push_back({matrix(2 * shape_.rows), 0, 1, each, 2 * shape_.rows});
  measure("turn_points", "", {4.0 * shape_.rows * batch_ * polynomial_bytes(), 0},
          [&] { rig_.backend().turn_points(rig_.tables(), jobs); });
}

void retrieval_bench::answers() {
  const std::size_t n = rig_.tables().n();
  const auto src = arrays(1, 2);
  const memory::buffer& rounded = filled(batch_ * 2 * n * sizeof(std::uint64_t));
  std::vector<backend::round_answer_job> rounds;
  for (std::uint32_t i = 0; i < batch_; ++i) {
    rounds.push_back({&rounded, i, src[i], 1, {shape_.answer_bits[0], shape_.answer_bits[1]}});
  }
  measure("round_answer", "", {batch_ * (2 * polynomial_bytes() + 16.0 * static_cast<double>(n)), 0},
          [&] { rig_.backend().round_answer(rig_.tables(), rounds); });
  if (batch_ != 1) return;
  constexpr std::uint32_t count = 16 * entries;  // plaintexts of a database, which has no clients
  const auto bytes = static_cast<std::uint32_t>(n * shape_.plain_bits / 8);
  const memory::buffer& packed = filled(std::size_t{count} * bytes);
  const std::vector<backend::unpack_job> unpack{
      {arrays(count, 1)[0], &packed, 0, bytes, bytes, count, shape_.plain_bits, factors()}};
  measure("unpack_plain", "", {count * (polynomial_bytes() + bytes), 0},
          [&] { rig_.backend().unpack_plain(rig_.tables(), unpack); });
}

/// With 32-bit multiply-adds. The shape of the table, and the largest shape alone.
void retrieval_bench::select() {
  backend::row_select_job job{matrix(shape_.rows * shape_.columns), shape_.rows, shape_.columns, {}};
  for (const poly_array& dst : arrays(shape_.columns, 2)) {
    job.queries.push_back({matrix(2 * shape_.rows), dst});
  }
  const std::vector<backend::row_select_job> jobs{job};
  const double products = 1.0 * shape_.rows * shape_.columns;
  const cost of{(products + batch_ * 2.0 * (shape_.rows + shape_.columns)) * polynomial_bytes(),
                2 * batch_ * (products + 1.5 * shape_.columns) * points_of_ring()};
  const auto time = [&](const char* variant, const retrieval_tuning& tuning) {
    constexpr auto integer = backend::cuda::row_select_kernel::integer;
    backend::cuda::override_row_select(&integer);
    override_retrieval_tuning(&tuning);
    measure("row_select", variant, of, [&] { rig_.backend().row_select(rig_.tables(), jobs); });
    override_retrieval_tuning(nullptr);
    backend::cuda::override_row_select(nullptr);
  };
  const retrieval_tuning table = backend::cuda::retrieval_tuning_of(rig_.device().architecture());
  time("32 bits, table", table);
  retrieval_tuning other = table;
  other.eight_queries = 0;
  if (batch_ >= 4) time("32 bits, at most 4", other);
}

std::vector<retrieval_row> time_retrieval(const retrieval_bench::rates& peak) {
  std::vector<retrieval_row> rows;
  for (const retrieval_shape& set : sets) {
    retrieval_bench bench(set, peak);
    for (const std::uint32_t batch : {1U, 64U}) bench.run(batch, rows);
  }
  return rows;
}

}  // namespace halocline::bench
