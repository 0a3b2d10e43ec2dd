// SPDX-License-Identifier: Apache-2.0
// Bytes of a secret and of the key of its seals. No step of writing or reading depends on a coefficient.
#include <algorithm>

#include "bit_packing.hpp"
#include "client_core.hpp"
#include "geometry_check.hpp"
#include "halocline/core/expects.hpp"
#include "message_frame.hpp"

namespace halocline::pir {
namespace {

/// A coefficient is written as itself plus one, in two bits.
constexpr unsigned code_bits = 2;
constexpr std::uint64_t unused_code = 3;

std::size_t content_bytes(const client_core& core) {
  return packed_bytes(core.ctx.shape().scheme.n(), code_bits) + core.seal_key.values.size();
}

}  // namespace

std::vector<std::byte> write_secret(const client_core& core) {
  const parameters& scheme = core.ctx.shape().scheme;
  wiped<std::uint64_t> codes(scheme.n());
  core.ctx.device().download(std::as_writable_bytes(std::span(codes.values)), core.coefficients, 0);
  for (std::uint64_t& each : codes.values) ++each;  // two's complement: -1 becomes 0
  std::vector<std::byte> out =
      begin_frame(secret_kind, {0, ring_fingerprint_of(scheme), core.id}, content_bytes(core));
  pack_bits(std::span<const std::uint64_t>(codes.values), code_bits, content_of(out).data());
  const auto key = std::as_bytes(std::span(core.seal_key.values));
  std::ranges::copy(key, content_of(out).last(key.size()).begin());
  finish_frame(out);
  return out;
}

void read_secret(client_core& core, std::span<const std::byte> bytes) {
  const parameters& scheme = core.ctx.shape().scheme;
  const open_frame in = read_frame(secret_kind, ring_fingerprint_of(scheme), "scheme", bytes);
  expect_content(secret_kind, in, content_bytes(core));
  wiped<std::uint64_t> codes(scheme.n());
  const auto key = std::as_writable_bytes(std::span(core.seal_key.values));
  unpack_bits(in.content.first(in.content.size() - key.size()), code_bits, std::span(codes.values));
  bool ternary = true;
  ring::small_coefficients coefficients(scheme.n());
  for (std::size_t i = 0; i < codes.values.size(); ++i) {
    ternary &= codes.values[i] != unused_code;
    coefficients.values()[i] = static_cast<std::int64_t>(codes.values[i]) - 1;
  }
  HALOCLINE_EXPECTS(ternary, corrupt_data, secret_kind.what, ": a coefficient is not -1, 0 or 1");
  core.set_secret(in.header.client, coefficients);
  std::ranges::copy(in.content.last(key.size()), key.begin());
}

}  // namespace halocline::pir
