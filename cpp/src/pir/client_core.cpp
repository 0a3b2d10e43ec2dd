// SPDX-License-Identifier: Apache-2.0
#include "client_core.hpp"

#include <algorithm>
#include <utility>

#include "halocline/backend/registry.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::pir {
namespace {

using memory::object_class;

std::shared_ptr<backend::backend> device_or_own(std::shared_ptr<backend::backend> device) {
  if (!device) {
    backend::backend_options options;
    options.threads = 1;
    device = backend::make_backend("cpu", options);
  }
  HALOCLINE_EXPECTS(!device->runtime().is_ghost(), invalid_argument,
                    "retrieval client: device 'ghost' holds no contents, so it can keep no secret; expected "
                    "'cpu' or a GPU such as 'cuda:0'");
  return device;
}

memory::buffer upload_error_table(context& ctx) {
  const std::vector<std::uint64_t> table = ring::gaussian_table(ctx.shape().scheme.source().error_stddev);
  const auto bytes = std::as_bytes(std::span(table));
  memory::buffer result = ctx.runtime().allocate(bytes.size(), object_class::scratch, "retrieval.errors");
  ctx.device().upload(result, 0, bytes);
  return result;
}

}  // namespace

client_core::client_core(geometry of, std::shared_ptr<backend::backend> device,
                         const std::optional<arith::seed_bytes>& seed)
    : ctx(std::move(of), device_or_own(std::move(device))),
      random(seed ? ring::random_source(*seed) : ring::random_source()),
      error_table(upload_error_table(ctx)) {}

void client_core::draw_secret() {
  const client_id none{};
  while (id == none) random.fill(std::as_writable_bytes(std::span(id)));
  coefficients = ring::draw_small(ctx.ring(), random, nullptr, "retrieval.secret_coefficients");
  transform_secret();
  random.fill(std::as_writable_bytes(std::span(seal_key.values)));
}

void client_core::set_secret(const client_id& name, ring::small_coefficients& values) {
  id = name;
  coefficients = ring::upload_small(ctx.ring(), values, "retrieval.secret_coefficients");
  transform_secret();
}

void client_core::transform_secret() {
  secret = make_poly("retrieval.secret");
  const backend::limb_view limbs = secret.chain();
  ring::expand_small(ctx.ring(), coefficients, {&limbs, 1});
}

ring::poly client_core::make_poly(const char* tag) {
  return ring::poly(ctx.ring(), {}, {0, ctx.limbs()}, object_class::scratch, tag, true);
}

void client_core::draw_error(const backend::limb_view& dst) {
  const memory::buffer drawn = ring::draw_small(ctx.ring(), random, &error_table, "retrieval.error");
  ring::expand_small(ctx.ring(), drawn, {&dst, 1});
}

void client_core::download(const ring::poly& from, std::span<std::uint32_t> out) const {
  ctx.device().download(std::as_writable_bytes(out), from.data(), 0);
}

arith::modulus<std::uint32_t> client_core::modulus_of(std::size_t limb) const {
  return arith::make_modulus(static_cast<std::uint32_t>(ctx.shape().scheme.primes()[limb]));
}

}  // namespace halocline::pir
