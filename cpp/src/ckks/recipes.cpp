// SPDX-License-Identifier: Apache-2.0
#include "halocline/ckks/recipes.hpp"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "halocline/ckks/context.hpp"
#include "halocline/ckks/key_generator.hpp"
#include "halocline/memory/recipe.hpp"

namespace halocline::ckks {
namespace {

using arith::window;
using backend::limb_view;

/// Whole limbs within the first `bytes` bytes.
std::uint32_t limbs_in(context& ctx, std::size_t bytes) {
  return static_cast<std::uint32_t>(bytes / ctx.tables().limb_bytes());
}

/// The uniform half of a digit of a key.
class seed_recipe final : public memory::recipe {
 public:
  seed_recipe(context& ctx, const key_digit_layout& layout, const backend::uniform_source& source)
      : ctx_(ctx), layout_(layout), source_(source) {}
  [[nodiscard]] memory::recovery kind() const noexcept override { return memory::recovery::expand; }
  [[nodiscard]] std::size_t unit_bytes() const noexcept override { return ctx_.tables().limb_bytes(); }
  void regenerate(const memory::buffer& target, std::size_t bytes) const override {
    std::vector<backend::uniform_job> jobs;
    const std::uint32_t limbs = limbs_in(ctx_, bytes);
    for (limb_view view : layout_.views(target)) {
      if (view.limb >= limbs) break;
      view.primes.count = std::min(view.primes.count, limbs - view.limb);
      jobs.push_back({view, source_});
    }
    ctx_.device().sample_uniform(ctx_.tables(), jobs);
  }

 private:
  context& ctx_;
  key_digit_layout layout_;
  backend::uniform_source source_;
};

/// Residues of a plaintext from its integer coefficients.
class coefficient_recipe final : public memory::recipe {
 public:
  coefficient_recipe(context& ctx, std::vector<window> primes, std::shared_ptr<const compact_plaintext> from)
      : ctx_(ctx), primes_(std::move(primes)), from_(std::move(from)) {}
  [[nodiscard]] memory::recovery kind() const noexcept override { return memory::recovery::encode; }
  [[nodiscard]] std::size_t unit_bytes() const noexcept override { return ctx_.tables().limb_bytes(); }
  void regenerate(const memory::buffer& target, std::size_t bytes) const override {
    std::vector<backend::encode_job> residues;
    std::vector<backend::unary_job> transforms;
    std::uint32_t limb = 0;
    const std::uint32_t limbs = limbs_in(ctx_, bytes);
    for (window part : primes_) {
      part.count = std::min(part.count, limbs - limb);
      if (part.count == 0) break;
      const limb_view view{&target, limb, part};
      residues.push_back({view, &from_->coefficients, 1, from_->log_stride(ctx_.parameters().log_n())});
      transforms.push_back({view, view});
      limb += part.count;
    }
    ctx_.device().encode_expand(ctx_.tables(), residues);
    ctx_.device().ntt(ctx_.tables(), transforms);
  }

 private:
  context& ctx_;
  std::vector<window> primes_;
  std::shared_ptr<const compact_plaintext> from_;
};

}  // namespace

std::uint64_t hash_of(std::span<const std::complex<double>> values) {
  std::uint64_t hash = values.size();
  const auto mix = [&](double part) {
    hash = (hash ^ std::bit_cast<std::uint64_t>(part)) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
  };
  for (const std::complex<double>& each : values) {
    mix(each.real());
    mix(each.imag());
  }
  return hash;
}

void name_key(context& ctx, const evaluation_key& key, bool named) {
  const auto name = [&](const memory::buffer& half, const char* kind, std::size_t digit) {
    ctx.runtime().set_identity(half, named ? identity_of(kind, key.galois_element, digit) : 0);
  };
  for (std::size_t j = 0; j < key.digits.size(); ++j) {
    name(key.digits[j].b, "evaluation_key.b", j);
    if (key.digits[j].a) name(key.digits[j].a, "evaluation_key.a", j);
  }
}

void register_key(context& ctx, const evaluation_key& key) {
  name_key(ctx, key, true);
  const std::vector<key_digit_layout> layouts = key_layout(ctx.parameters(), {key.galois_element, key.level});
  for (std::size_t j = 0; j < key.digits.size(); ++j) {
    const evaluation_key_digit& digit = key.digits[j];
    if (!digit.a) continue;
    // A half that was stored without its seed cannot be made again. Keys of ghosts have no seeds, but stand
    // for such that do; where a plan asks for what a key cannot do, its copy is read.
    const bool seeded = digit.source.seed != backend::uniform_source{}.seed;
    if (!seeded && !ctx.runtime().is_ghost()) continue;
    ctx.runtime().set_recipe(digit.a, std::make_shared<seed_recipe>(ctx, layouts[j], digit.source));
  }
}

void register_plaintext(context& ctx, const ring::poly& value, std::uint64_t identity,
                        std::shared_ptr<const compact_plaintext> coefficients) {
  if (identity != 0) ctx.runtime().set_identity(value.data(), identity);
  if (coefficients == nullptr) return;
  std::vector<window> primes;
  for (const limb_view& view : value.views()) primes.push_back(view.primes);
  ctx.runtime().set_recipe(
      value.data(), std::make_shared<coefficient_recipe>(ctx, std::move(primes), std::move(coefficients)));
}

}  // namespace halocline::ckks
