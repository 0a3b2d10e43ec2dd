// SPDX-License-Identifier: Apache-2.0
// Bytes of a secret. No step of writing or reading depends on a coefficient.
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

}  // namespace

std::vector<std::byte> write_secret(const client_core& core) {
  const parameters& scheme = core.ctx.shape().scheme;
  wiped<std::uint64_t> codes(scheme.n());
  core.ctx.device().download(std::as_writable_bytes(std::span(codes.values)), core.coefficients, 0);
  for (std::uint64_t& each : codes.values) ++each;  // two's complement: -1 becomes 0
  std::vector<std::byte> out = begin_frame(secret_kind, {0, ring_fingerprint_of(scheme), core.id},
                                           packed_bytes(scheme.n(), code_bits));
  pack_bits(std::span<const std::uint64_t>(codes.values), code_bits, content_of(out).data());
  finish_frame(out);
  return out;
}

void read_secret(client_core& core, std::span<const std::byte> bytes) {
  const parameters& scheme = core.ctx.shape().scheme;
  const open_frame in = read_frame(secret_kind, ring_fingerprint_of(scheme), "scheme", bytes);
  expect_content(secret_kind, in, packed_bytes(scheme.n(), code_bits));
  wiped<std::uint64_t> codes(scheme.n());
  unpack_bits(in.content, code_bits, std::span(codes.values));
  bool ternary = true;
  ring::small_coefficients coefficients(scheme.n());
  for (std::size_t i = 0; i < codes.values.size(); ++i) {
    ternary &= codes.values[i] != unused_code;
    coefficients.values()[i] = static_cast<std::int64_t>(codes.values[i]) - 1;
  }
  HALOCLINE_EXPECTS(ternary, corrupt_data, secret_kind.what, ": a coefficient is not -1, 0 or 1");
  core.set_secret(in.header.client, coefficients);
}

}  // namespace halocline::pir
