// SPDX-License-Identifier: Apache-2.0
#include "pir/column_groups.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "halocline/backend/backend.hpp"

namespace halocline::pir {
namespace {

/// Scratch of a batch of polynomials: small enough for the caches of a processor, large enough to fill an
/// accelerator.
constexpr std::size_t batch_bytes = std::size_t{8} << 20;
/// Bytes of records that are read at once where nothing is transformed.
constexpr std::size_t copy_bytes = std::size_t{4} << 20;

}  // namespace

/// Plaintexts that are transformed at once: all planes of some, or some planes of one.
struct group_maker::tile {
  std::uint32_t first = 0;  ///< number within the group
  std::uint32_t count = 0;
  std::uint32_t plane = 0;
  std::uint32_t planes = 0;
};

group_maker::group_maker(context& ctx, std::shared_ptr<record_store> records)
    : ctx_(ctx), records_(std::move(records)) {
  for (const std::uint64_t prime : shape().scheme.primes()) {
    factors_.push_back((std::uint64_t{1} << 32) % prime);
  }
  batch_ = static_cast<std::uint32_t>(std::max<std::size_t>(1, batch_bytes / ctx_.polynomial_bytes()));
}

std::uint64_t group_maker::plaintexts(std::uint32_t columns) const noexcept {
  return std::uint64_t{columns} * shape().at.rows;
}

std::size_t group_maker::point_bytes(std::uint32_t columns) const noexcept {
  return shape().planes() * plaintexts(columns) * ctx_.polynomial_bytes();
}

std::size_t group_maker::raw_bytes(std::uint32_t columns) const noexcept {
  return plaintexts(columns) * shape().group_bytes();
}

void group_maker::fill(const memory::buffer& data, column_range of, storage kept) const {
  const auto count = static_cast<std::uint32_t>(plaintexts(of.columns));
  kept == storage::raw ? copy(data, of, 0, count) : transform(data, of, 0, count);
}

void group_maker::refresh(const memory::buffer& data, column_range of, storage kept,
                          std::uint32_t plaintext) const {
  kept == storage::raw ? copy(data, of, plaintext, 1) : transform(data, of, plaintext, 1);
}

void group_maker::fetch(std::uint64_t offset, std::span<std::byte> out) const {
  const std::uint64_t total = shape().records * shape().record_bytes;
  const std::size_t there =
      ctx_.runtime().is_ghost() ? 0 : std::min<std::uint64_t>(out.size(), total - std::min(offset, total));
  if (there != 0) records_->read(offset, out.first(there));
  std::ranges::fill(out.subspan(there), std::byte{0});
}

void group_maker::fetch(column_range of, std::uint64_t offset, std::span<std::byte> out) const {
  const std::uint64_t column_bytes = shape().at.rows * shape().group_bytes();
  while (!out.empty()) {
    const std::uint64_t column = offset / column_bytes, skipped = offset % column_bytes;
    const std::uint64_t left = of.step == 1 ? out.size() : column_bytes - skipped;
    const std::size_t part = std::min<std::uint64_t>(out.size(), left);
    fetch((of.first + column * of.step) * column_bytes + skipped, out.first(part));
    offset += part;
    out = out.subspan(part);
  }
}

memory::buffer group_maker::make_polynomials(std::uint64_t count) const {
  return ctx_.runtime().allocate(std::min<std::uint64_t>(batch_, count) * ctx_.polynomial_bytes(),
                                 memory::object_class::scratch, "database.polynomials");
}

template <typename VisitT>
void group_maker::for_each_tile(std::uint32_t first, std::uint32_t count, const VisitT& visit) const {
  const std::uint32_t planes = shape().planes();
  const std::uint32_t rows = std::max(1U, batch_ / planes);
  for (std::uint32_t i = 0; i < count; i += rows) {
    for (std::uint32_t plane = 0; plane < planes; plane += batch_) {
      visit({first + i, std::min(rows, count - i), plane, std::min(batch_, planes - plane)});
    }
  }
}

void group_maker::transform_tile(const memory::buffer& points, column_range of, const tile& part,
                                 const memory::buffer& polynomials, const memory::buffer& bytes,
                                 std::uint64_t offset) const {
  const std::uint32_t limbs = ctx_.limbs();
  const auto group_rows = static_cast<std::uint32_t>(plaintexts(of.columns));
  const std::uint64_t whole =
      shape().planes() == 1 ? shape().group_bytes() : shape().scheme.plaintext_bytes();
  const backend::poly_array all{&polynomials, 0, limbs};
  std::vector<backend::unpack_job> unpack;
  std::vector<backend::turn_job> turn;
  for (std::uint32_t p = 0; p < part.planes; ++p) {
    const std::uint64_t skipped = std::uint64_t{part.plane + p} * whole;
    const backend::poly_array mine = all.from(p * part.count);
    backend::unpack_job job{mine, &bytes, offset + p * whole, shape().group_bytes(), 0, part.count, 0, {}};
    job.bytes = static_cast<std::uint32_t>(std::min(whole, shape().group_bytes() - skipped));
    job.bits = shape().scheme.source().plain_bits;
    job.factors = factors_;
    unpack.push_back(std::move(job));
    const std::uint32_t row = (part.plane + p) * group_rows + part.first;
    turn.push_back({{&points, shape().planes() * group_rows}, row, 1, mine, part.count});
  }
  const backend::array_job transform{all, all, part.planes * part.count};
  ctx_.device().unpack_plain(ctx_.tables(), unpack);
  ctx_.device().array_ntt(ctx_.tables(), {&transform, 1});
  ctx_.device().turn_points(ctx_.tables(), turn);
}

void group_maker::transform(const memory::buffer& points, column_range of, std::uint32_t first,
                            std::uint32_t count) const {
  const std::uint64_t record = shape().group_bytes();
  const std::uint64_t whole = shape().scheme.plaintext_bytes();
  const std::uint32_t planes = shape().planes();
  const memory::buffer polynomials = make_polynomials(std::uint64_t{count} * planes);
  memory::buffer stage;
  std::vector<std::byte> host;
  for_each_tile(first, count, [&](const tile& part) {
    const std::uint64_t skipped = part.plane * whole;
    const bool is_split = part.planes < planes;
    host.resize(is_split ? std::min(part.planes * whole, record - skipped) : part.count * record);
    fetch(of, part.first * record + skipped, host);
    if (stage.size() < host.size()) {
      stage = {};
      stage = ctx_.runtime().allocate(host.size(), memory::object_class::scratch, "database.records");
    }
    ctx_.device().upload(stage, 0, host);
    transform_tile(points, of, part, polynomials, stage, 0);
  });
}

void group_maker::transform_raw(const memory::buffer& points, const memory::buffer& raw,
                                column_range of) const {
  const std::uint64_t whole = shape().scheme.plaintext_bytes();
  const memory::buffer polynomials = make_polynomials(plaintexts(of.columns) * shape().planes());
  for_each_tile(0, static_cast<std::uint32_t>(plaintexts(of.columns)), [&](const tile& part) {
    transform_tile(points, of, part, polynomials, raw,
                   part.first * shape().group_bytes() + part.plane * whole);
  });
}

void group_maker::copy(const memory::buffer& raw, column_range of, std::uint64_t first,
                       std::uint64_t count) const {
  std::uint64_t offset = first * shape().group_bytes();
  const std::uint64_t end = offset + count * shape().group_bytes();
  std::vector<std::byte> host;
  for (; offset < end; offset += host.size()) {
    host.resize(std::min<std::uint64_t>(copy_bytes, end - offset));
    fetch(of, offset, host);
    ctx_.device().upload(raw, offset, host);
  }
}

}  // namespace halocline::pir
