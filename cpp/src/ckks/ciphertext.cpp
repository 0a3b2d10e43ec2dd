// SPDX-License-Identifier: Apache-2.0
#include "halocline/ckks/ciphertext.hpp"

#include <bit>
#include <cmath>
#include <utility>

#include "ckks/small_poly.hpp"
#include "halocline/backend/registry.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::ckks {
namespace {

/// A ciphertext with the description of `source` and room for its residues in `ctx`.
ciphertext allocate_like(context& ctx, const ciphertext& source) {
  ciphertext result;
  for (const ring::poly& part : source.parts) {
    result.parts.push_back(
        ring::make_poly(ctx.ring(), part.chain().primes, memory::object_class::ciphertext, "ciphertext"));
  }
  result.level = source.level;
  result.scale = source.scale;
  result.slots = source.slots;
  result.seed = source.seed;
  result.real_hint = source.real_hint;
  result.key = source.key;
  return result;
}

}  // namespace

std::size_t ciphertext::bytes() const noexcept {
  std::size_t total = 0;
  for (const ring::poly& part : parts) total += part.data().size();
  return total;
}

std::shared_ptr<context> make_host_context(params::parameters parameters) {
  return make_context(std::move(parameters), backend::make_backend("cpu"), ring::transform_tables::later);
}

ciphertext clone(context& ctx, const ciphertext& source) {
  const ciphertext* const sources[] = {&source};
  return std::move(clone(ctx, sources).front());
}

std::vector<ciphertext> clone(context& ctx, ciphertext_span sources) {
  std::vector<ciphertext> results;
  std::vector<backend::unary_job> jobs;
  for (const ciphertext* source : sources) {
    check(ctx, *source, "clone");
    results.push_back(allocate_like(ctx, *source));
    for (std::size_t i = 0; i < source->parts.size(); ++i) {
      jobs.push_back({results.back().parts[i].chain(), source->parts[i].chain()});
    }
  }
  ctx.device().copy(ctx.tables(), jobs);
  return results;
}

std::vector<const ciphertext*> pointers(std::span<const ciphertext> values) {
  std::vector<const ciphertext*> result;
  for (const ciphertext& each : values) result.push_back(&each);
  return result;
}

ciphertext with_slots(context& ctx, const ciphertext& source, std::uint32_t slots) {
  HALOCLINE_EXPECTS(std::has_single_bit(slots) && slots <= ctx.parameters().slots(), invalid_argument,
                    "with_slots: ", slots, " slots; expected a power of two up to ",
                    ctx.parameters().slots());
  ciphertext result = clone(ctx, source);
  result.slots = slots;
  return result;
}

ciphertext transfer(const ciphertext& source, context& to) {
  const ring::home& from = check(source, "transfer");
  ciphertext result = allocate_like(to, source);
  for (std::size_t i = 0; i < source.parts.size(); ++i) {
    transfer_bytes(from, source.parts[i].data(), to, result.parts[i].data());
  }
  return result;
}

namespace {

void check_parts(const ciphertext& value, const char* operation) {
  HALOCLINE_EXPECTS(value.parts.size() == 2 || value.parts.size() == 3, invalid_argument, operation,
                    ": a ciphertext with ", value.parts.size(),
                    " components; expected 2, or 3 before relinearization");
  for (const ring::poly& part : value.parts) {
    HALOCLINE_EXPECTS(part, invalid_argument, operation,
                      ": a component of the ciphertext is empty (moved from?)");
  }
}

/// Against the parameters and the runtime of its home, or of what it is used with.
void check_shape(const params::parameters& parameters, const memory::runtime& runtime,
                 const ciphertext& value, const char* operation) {
  HALOCLINE_EXPECTS(parameters.has_level(value.level), invalid_argument, operation,
                    ": a ciphertext of level ", value.level, "; the highest level of parameters '",
                    parameters.name(), "' is ", parameters.top_level());
  const arith::window q = parameters.level(value.level).q;
  for (const ring::poly& part : value.parts) {
    HALOCLINE_EXPECTS(part.data().owner() == &runtime, invalid_argument, operation,
                      ": the ciphertext belongs to another engine or client; transfer it to this one first");
    const arith::window primes = part.chain().primes;
    HALOCLINE_EXPECTS(part.special().primes.count == 0 && primes == q &&
                          part.data().size() == q.count * parameters.limb_bytes(),
                      invalid_argument, operation, ": a component has the primes [", primes.first, ", ",
                      primes.end(), "); level ", value.level, " of parameters '", parameters.name(),
                      "' has [", q.first, ", ", q.end(), "). It was made for other parameters");
  }
  HALOCLINE_EXPECTS(std::isfinite(value.scale) && value.scale > 0, invalid_argument, operation,
                    ": a ciphertext of scale ", value.scale, "; expected a positive number");
  HALOCLINE_EXPECTS(std::has_single_bit(value.slots) && value.slots <= parameters.slots(), invalid_argument,
                    operation, ": a ciphertext of ", value.slots, " slots; expected a power of two up to ",
                    parameters.slots());
}

}  // namespace

void check(const context& ctx, const ciphertext& value, const char* operation) {
  check_parts(value, operation);
  check_shape(ctx.parameters(), ctx.runtime(), value, operation);
}

const ring::home& check(const ciphertext& value, const char* operation) {
  check_parts(value, operation);
  const ring::home& home = *value.parts.front().home();
  HALOCLINE_EXPECTS(home.parameters, invalid_argument, operation, ": a ciphertext of no CKKS parameters");
  check_shape(*home.parameters, home.device->runtime(), value, operation);
  return home;
}

}  // namespace halocline::ckks
