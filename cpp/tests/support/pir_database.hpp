// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "halocline/arith/arith.hpp"
#include "halocline/backend/registry.hpp"
#include "halocline/pir/database.hpp"

/// Small databases, and what their plaintexts are by definition.
namespace halocline::test {

/// A geometry of N = 1024 with 2 primes and few rows.
/// @param rows of each column
[[nodiscard]] inline pir::geometry small_geometry(std::uint64_t records, std::uint64_t record_bytes,
                                                  std::uint32_t rows, unsigned plain_bits = 11) {
  pir::literal source;
  source.name = "test";
  source.log_n = 10;
  source.prime_count = 2;
  source.prime_bits = 30;
  source.plain_bits = plain_bits;
  source.allow_insecure = true;
  pir::layout_request request;
  request.rows = rows;
  return pir::make_geometry(pir::parameters::from_literal(source), records, record_bytes, request);
}

[[nodiscard]] inline std::vector<std::byte> random_records(std::uint64_t bytes, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> made(bytes);
  for (std::byte& each : made) each = static_cast<std::byte>(random());
  return made;
}

/// Coefficients of plaintext `number` of a plane: the bits of its records, least significant first, centred.
[[nodiscard]] inline std::vector<std::int64_t> coefficients_of(const pir::geometry& shape,
                                                               const std::vector<std::byte>& records,
                                                               std::uint64_t number, std::uint32_t plane) {
  const unsigned bits = shape.scheme.source().plain_bits;
  const std::uint64_t begin = number * shape.group_bytes() + plane * shape.scheme.plaintext_bytes();
  const std::uint64_t own =
      shape.planes() == 1
          ? shape.group_bytes()
          : std::min<std::uint64_t>(shape.scheme.plaintext_bytes(),
                                    shape.record_bytes - plane * shape.scheme.plaintext_bytes());
  std::vector<std::int64_t> result(shape.scheme.n());
  for (std::size_t i = 0; i < result.size() * bits && i / 8 < own && begin + i / 8 < records.size(); ++i) {
    const auto byte = static_cast<unsigned>(records[begin + i / 8]);
    result[i / bits] += static_cast<std::int64_t>(byte >> (i % 8) & 1U) << (i % bits);
  }
  for (std::int64_t& each : result) {
    if (each >= std::int64_t{1} << (bits - 1)) each -= std::int64_t{1} << bits;
  }
  return result;
}

/// The integers, in magnitude below q / 2, whose residues are row `row` of a matrix of points in Montgomery
/// form: what stands for a plaintext.
[[nodiscard]] inline std::vector<std::int64_t> integers_in(pir::context& ctx,
                                                           const backend::point_matrix& points,
                                                           std::uint32_t row) {
  const std::size_t n = ctx.shape().scheme.n();
  const std::uint32_t block = points.block;
  std::vector<std::uint32_t> matrix(points.rows * ctx.limbs() * n);
  ctx.device().download(std::as_writable_bytes(std::span(matrix)), *points.data, 0);
  std::vector<std::uint32_t> words(ctx.limbs() * n);
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = matrix[(i / block * points.rows + row) * block + i % block];
  }
  const memory::buffer polynomial =
      ctx.runtime().allocate(ctx.polynomial_bytes(), memory::object_class::scratch, "test");
  ctx.device().upload(polynomial, 0, std::as_bytes(std::span(words)));
  const backend::poly_array all{&polynomial, 0, ctx.limbs()};
  const backend::array_job back{all, all, 1};
  ctx.device().array_intt(ctx.tables(), {&back, 1});
  ctx.device().download(std::as_writable_bytes(std::span(words)), polynomial, 0);
  std::vector<std::int64_t> found(n);
  for (std::size_t l = 0; l < ctx.limbs(); ++l) {
    const auto q = arith::make_modulus(static_cast<std::uint32_t>(ctx.shape().scheme.primes()[l]));
    for (std::size_t j = 0; j < n; ++j) {
      const std::int64_t value = arith::montgomery_reduce<std::uint32_t>(words[l * n + j], q);
      const std::int64_t centred = value > q.value / 2 ? value - std::int64_t{q.value} : value;
      if (l == 0) found[j] = centred;
      EXPECT_EQ(found[j], centred) << "row " << row << ", limb " << l << ", coefficient " << j;
    }
  }
  return found;
}

/// Expects that row `row` of a matrix of points stands for a plaintext: equal modulo t, in [-t/2, t/2), or in
/// (-t, t) where the scheme lifts at random.
inline void expect_row(pir::context& ctx, const backend::point_matrix& points, std::uint32_t row,
                       const std::vector<std::int64_t>& coefficients) {
  const std::int64_t t = std::int64_t{1} << ctx.shape().scheme.source().plain_bits;
  const std::vector<std::int64_t> found = integers_in(ctx, points, row);
  for (std::size_t j = 0; j < found.size(); ++j) {
    const std::int64_t wanted = coefficients[j];
    const std::int64_t other = wanted < 0 ? wanted + t : wanted == 0 ? 0 : wanted - t;
    const bool is_other = ctx.shape().scheme.lifts_at_random() && found[j] == other;
    ASSERT_TRUE(found[j] == wanted || is_other)
        << "row " << row << ", coefficient " << j << ": " << found[j] << " for " << wanted;
  }
}

/// Expects every row of every group of a database.
inline void expect_database(pir::context& ctx, pir::database& data, const std::vector<std::byte>& records) {
  memory::buffer scratch;
  const pir::geometry& shape = ctx.shape();
  for (const pir::column_group& group : data.groups()) {
    const backend::point_matrix points = data.points(group, scratch);
    const std::uint32_t rows = group.columns * shape.at.rows;
    ASSERT_EQ(points.rows, shape.planes() * rows);
    for (std::uint32_t i = 0; i < points.rows; ++i) {
      const std::uint64_t number = std::uint64_t{group.first} * shape.at.rows + i % rows;
      expect_row(ctx, points, i, coefficients_of(shape, records, number, i / rows));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

/// Bytes of a group as it is stored.
[[nodiscard]] inline std::vector<std::byte> stored(pir::context& ctx, const pir::column_group& group) {
  std::vector<std::byte> bytes(group.data.size());
  ctx.device().download(bytes, group.data, 0);
  return bytes;
}

}  // namespace halocline::test
