// SPDX-License-Identifier: Apache-2.0
#include "halocline/params/parameters.hpp"

#include <sodium.h>

#include <algorithm>
#include <cmath>

#include "halocline/core/expects.hpp"
#include "halocline/params/primes.hpp"
#include "params/check_literal.hpp"

namespace halocline::params {

namespace {

/// A level table and the limbs of keys for its levels.
struct ladder {
  std::vector<level_info> rows;
  std::vector<unsigned> key_limbs;
};

/// Lowered levels have the numbers i * lowered_stride + l. No set has as many levels (check_literal).
constexpr unsigned lowered_stride = 128;

}  // namespace

struct parameters::data {
  /// The table that a level's number belongs to, and its row there; no table when there is no such level.
  [[nodiscard]] std::pair<const ladder*, unsigned> find(unsigned l) const noexcept {
    const unsigned lowered_by = l / lowered_stride;
    if (lowered_by > lowered.size()) return {nullptr, 0};
    const ladder& found = lowered_by == 0 ? levels : lowered[lowered_by - 1];
    const unsigned row = l % lowered_stride;
    return {row < found.rows.size() ? &found : nullptr, row};
  }
  literal source;
  std::vector<std::uint64_t> primes;
  unsigned special = 0;
  unsigned terminals = 0;
  unsigned mains = 0;
  ladder levels;
  std::vector<ladder> lowered;  // element i for messages up to max_level() - 1 - i; empty where there is none
  double base_modulus = 0;
  std::optional<encapsulation_info> encapsulation;
  double log2_p = 0;
  double log2_pq = 0;
  security_estimate security;
  fingerprint_bytes fingerprint{};
};

namespace {

double log2_product(std::span<const std::uint64_t> primes) {
  long double sum = 0;
  for (const std::uint64_t q : primes) sum += std::log2(static_cast<long double>(q));
  return static_cast<double>(sum);
}

/// T_0, T_1, ...: each the prime nearest to what keeps the product of the first i near 2^(i terminal_bits),
/// because the scales depend on the products, and at large ring degrees single primes are up to half a bit
/// off.
std::vector<std::uint64_t> make_terminals(double terminal_bits, unsigned count, std::uint64_t two_n) {
  std::vector<std::uint64_t> terminals;
  double found_bits = 0;
  for (unsigned i = 0; i < count; ++i) {
    const double wanted =
        std::clamp((i + 1) * terminal_bits - found_bits, terminal_bits - 0.5, terminal_bits + 0.5);
    terminals.push_back(nearest_prime(std::max(wanted, smallest_terminal_bits), two_n, terminals));
    found_bits += std::log2(static_cast<double>(terminals.back()));
  }
  return terminals;
}

void append(std::vector<std::uint64_t>& list, const std::vector<std::uint64_t>& more) {
  list.insert(list.end(), more.begin(), more.end());
}

/// Terminals T_{A-1}..T_0 and mains Q_0..Q_{B-1}.
std::vector<std::uint64_t> make_chain(const literal& source, unsigned terminal_count, unsigned main_count) {
  const std::uint64_t two_n = std::uint64_t{2} << source.log_n;
  if (source.word_bits == 64) {
    std::vector<std::uint64_t> chain = primes_below(source.base_bits, 1, two_n);
    const std::vector<level_target> targets = level_targets(source);
    for (std::size_t first = 1; first < targets.size();) {
      std::size_t end = first;
      while (end < targets.size() && targets[end].use == targets[first].use) ++end;
      append(chain, primes_below(targets[first].scale_bits, end - first, two_n, chain));
      first = end;
    }
    return chain;
  }
  std::vector<std::uint64_t> chain = make_terminals(source.terminal_bits, terminal_count, two_n);
  std::reverse(chain.begin(), chain.end());
  append(chain, primes_below(source.main_bits, main_count, two_n, chain));
  return chain;
}

fingerprint_bytes make_fingerprint(literal source, std::span<const std::uint64_t> primes) {
  source.name.clear();
  source.allow_insecure = false;
  std::string bytes = source.to_json(0);
  for (const std::uint64_t q : primes) {
    for (unsigned shift = 0; shift < 64; shift += 8) bytes.push_back(static_cast<char>((q >> shift) & 0xFFU));
  }
  fingerprint_bytes result{};
  const int status =
      crypto_generichash(result.data(), result.size(), reinterpret_cast<const unsigned char*>(bytes.data()),
                         bytes.size(), nullptr, 0);
  HALOCLINE_EXPECTS(status == 0, error, "libsodium could not hash ", bytes.size(), " bytes (status ", status,
                    ")");
  return result;
}

unsigned max_of(const std::vector<level_shape>& shapes, unsigned level_shape::*field) {
  unsigned result = 0;
  for (const level_shape& shape : shapes) result = std::max(result, shape.*field);
  return result;
}

/// How much smaller the digits must be, or P larger, for key switching to add little noise.
void check_digits(const parameters& p) {
  for (unsigned j = 0; j < p.digit_count(); ++j) {
    const arith::window w = p.digit(j);
    const double bits = log2_product(p.primes().subspan(w.first, w.count));
    HALOCLINE_EXPECTS(
        bits <= p.log2_p() + 1, invalid_argument, "key-switching digit ", j, " has ", bits,
        " bits and the special primes together ", p.log2_p(),
        "; expected a digit at most one bit larger, or key switching drowns the message in noise; "
        "raise special_primes or special_bits, or lower digit_size (now ",
        p.digit_size(), ")");
  }
}

/// Largest distance of the binary logarithms of a scale and of its target.
constexpr double scale_tolerance = 0.25;

double scale_error(const level_info& level, const level_target& target) {
  return std::abs(std::log2(level.scale) - target.scale_bits);
}

void check_scales(const parameters& p) {
  const std::vector<level_target> targets = level_targets(p.source());
  for (unsigned l = 0; l <= p.top_level(); ++l) {
    HALOCLINE_EXPECTS(scale_error(p.level(l), targets[l]) <= scale_tolerance, invalid_argument,
                      "the scale of level ", l, " is 2^", std::log2(p.level(l).scale),
                      "; expected it within a quarter of a bit of 2^", targets[l].scale_bits,
                      "; the primes near 2^terminal_bits are too far off at this ring degree: "
                      "try other main_bits and terminal_bits, or 64-bit words");
  }
}

/// Refuses keys to the sparse secret whose noise would exceed the message.
void check_encapsulation(const parameters& p) {
  if (!p.encapsulation()) return;
  const arith::window special = p.encapsulation()->to_sparse;
  const double bits = log2_product(p.primes().subspan(special.first, special.count));
  const arith::window base = p.level(0).q;
  for (std::uint32_t i = base.first; i < base.end(); ++i) {
    const double prime = std::log2(static_cast<double>(p.primes()[i]));
    HALOCLINE_EXPECTS(bits >= prime - 1, invalid_argument, "a prime of level 0 has ", prime,
                      " bits and the special primes of the ephemeral secret together ", bits,
                      "; expected at most one bit more, or the key switch drowns the message in noise; raise "
                      "ephemeral_special_primes or special_bits, or lower base_bits");
  }
}

void check_ephemeral_security(const parameters& p) {
  if (p.source().allow_insecure || !p.encapsulation()) return;
  const encapsulation_info& e = *p.encapsulation();
  if (e.security.bits >= required_security) return;
  throw insecure_parameters(text(
      "parameters \"", p.name(), "\": an ephemeral secret of Hamming weight ",
      p.bootstrapping()->ephemeral_weight, " with log2(PQ) = ", e.log2_pq, " at ring degree 2^", p.log_n(),
      e.security.max_log2_pq > 0 ? text(" has about ", static_cast<int>(e.security.bits), " bits of security")
                                 : std::string(" is not rated"),
      "; expected log2(PQ) <= ", e.security.max_log2_pq, " for ", required_security, " bits (",
      e.security.source,
      "); lower base_bits or ephemeral_special_primes, raise ephemeral_weight, or set allow_insecure for "
      "tests"));
}

void check_security(const parameters& p) {
  const security_estimate& s = p.security();
  if (p.source().allow_insecure || s.bits >= required_security) return;
  HALOCLINE_EXPECTS(
      s.max_log2_pq > 0, insecure_parameters, "parameters \"", p.name(), "\": ", s.source,
      "; expected parameters with at least ", required_security,
      " bits of security by a published table; use a ternary secret and error_stddev 3.2, or set "
      "allow_insecure for experiments");
  throw insecure_parameters(
      text("parameters \"", p.name(), "\" have log2(PQ) = ", p.log2_pq(), " at ring degree 2^", p.log_n(),
           ", about ", static_cast<int>(s.bits), " bits of security; expected log2(PQ) <= ", s.max_log2_pq,
           " for ", required_security, " bits (", s.source,
           "); lower depth, special_primes or scale_bits, raise log_n, or set allow_insecure for tests"));
}

/// A key switch of polynomials below Q_0 adds negligible noise when P is this many bits larger than Q_0.
constexpr double quiet_bits = 20;

/// Bits of the scale of diagonals that a division by special primes takes off again.
constexpr double least_raised_scale_bits = 50;

/// The least number of special primes with a product of that many bits; all of them when they are too few.
unsigned special_for(const std::vector<std::uint64_t>& primes, unsigned special, double bits) {
  unsigned count = 1;
  while (count < special && log2_product(std::span(primes).first(count)) < bits) ++count;
  return count;
}

std::optional<encapsulation_info> make_encapsulation(const literal& source,
                                                     const std::vector<std::uint64_t>& primes,
                                                     const level_info& base) {
  if (!source.bootstrapping || source.bootstrapping->ephemeral_weight == 0) return std::nullopt;
  const bootstrap_literal& wanted = *source.bootstrapping;
  encapsulation_info result;
  result.to_sparse = {0, wanted.ephemeral_special_primes};
  result.to_dense = {0, special_for(primes, source.special_primes, base.log2_modulus + quiet_bits)};
  // The last special primes, which the chain follows. All of them have about the same size.
  const unsigned special = source.special_primes;
  const double bits = log2_product(std::span(primes).first(special)) / special;
  const auto scale = static_cast<unsigned>(std::ceil(least_raised_scale_bits / bits));
  if (result.to_dense.count + scale <= special &&
      log2_product(std::span(primes).subspan(special - scale - result.to_dense.count,
                                             result.to_dense.count)) >= base.log2_modulus + quiet_bits - 1) {
    result.raised_scale = {special - scale, scale};
    result.raised_special = {special - scale - result.to_dense.count, result.to_dense.count};
  }
  result.log2_pq = base.log2_modulus + log2_product(std::span(primes).first(result.to_sparse.count));
  result.security = estimate_security(source.log_n, result.log2_pq,
                                      {secret_kind::sparse, wanted.ephemeral_weight}, source.error_stddev);
  return result;
}

ladder make_ladder(const std::vector<std::uint64_t>& primes, const literal& source, unsigned terminals,
                   const std::vector<level_shape>& shapes) {
  ladder result;
  result.rows = make_level_table(primes, source.special_primes, terminals, shapes, level_targets(source));
  unsigned limbs = 0;
  for (const level_info& level : result.rows) {
    limbs = std::max(limbs, level.q.end());
    result.key_limbs.push_back(limbs);
  }
  return result;
}

/// Table with the levels of EvalMod and CoeffToSlot upon message levels up to `source.depth`, made of the
/// primes that there are. Empty where some modulus is no sum of them, or some scale is far from its target.
ladder make_lowered(const std::vector<std::uint64_t>& primes, const literal& source, unsigned terminals) {
  const std::vector<level_target> targets = level_targets(source);
  std::vector<level_shape> shapes;
  for (const level_target& target : targets) {
    const auto shape = shape_of_level(target.modulus_bits, source);
    if (!shape || shape->terminals > terminals) return {};
    shapes.push_back(*shape);
  }
  ladder result = make_ladder(primes, source, terminals, shapes);
  for (std::size_t l = 0; l < targets.size(); ++l) {
    if (scale_error(result.rows[l], targets[l]) > scale_tolerance) return {};
  }
  return result;
}

std::vector<ladder> make_all_lowered(const std::vector<std::uint64_t>& primes, literal source,
                                     unsigned terminals) {
  std::vector<ladder> result;
  if (!source.bootstrapping || source.word_bits == 64) return result;
  while (--source.depth > 0) result.push_back(make_lowered(primes, source, terminals));
  return result;
}

double window_product(const std::vector<std::uint64_t>& primes, arith::window w) {
  long double product = 1;
  for (std::uint32_t i = w.first; i < w.end(); ++i) product *= static_cast<long double>(primes[i]);
  return static_cast<double>(product);
}

}  // namespace

parameters parameters::from_literal(const literal& source) {
  check_literal(source);
  const std::vector<level_shape> shapes = plan_levels(source);
  auto d = std::make_shared<data>();
  d->source = source;
  d->special = source.special_primes;
  d->terminals = max_of(shapes, &level_shape::terminals);
  d->mains = max_of(shapes, &level_shape::mains);
  check_prime_count(source, d->terminals, d->mains);

  const std::vector<std::uint64_t> chain = make_chain(source, d->terminals, d->mains);
  d->primes = primes_below(source.special_bits, d->special, std::uint64_t{2} << source.log_n, chain);
  d->log2_p = log2_product(d->primes);
  append(d->primes, chain);
  d->log2_pq = log2_product(d->primes);
  d->levels = make_ladder(d->primes, source, d->terminals, shapes);
  d->lowered = make_all_lowered(d->primes, source, d->terminals);
  d->security = estimate_security(source.log_n, d->log2_pq, source.secret, source.error_stddev);
  d->base_modulus = window_product(d->primes, d->levels.rows.front().q);
  d->encapsulation = make_encapsulation(source, d->primes, d->levels.rows.front());
  d->fingerprint = make_fingerprint(source, d->primes);

  parameters result(std::move(d));
  check_scales(result);
  check_digits(result);
  check_encapsulation(result);
  check_security(result);
  check_ephemeral_security(result);
  return result;
}

parameters parameters::from_json(std::string_view text) { return from_literal(literal::from_json(text)); }
std::string parameters::to_json(unsigned indent) const { return data_->source.to_json(indent); }

const literal& parameters::source() const noexcept { return data_->source; }
const std::string& parameters::name() const noexcept { return data_->source.name; }
unsigned parameters::log_n() const noexcept { return data_->source.log_n; }
std::size_t parameters::n() const noexcept { return std::size_t{1} << log_n(); }
std::size_t parameters::slots() const noexcept { return n() / 2; }
unsigned parameters::word_bits() const noexcept { return data_->source.word_bits; }
std::size_t parameters::word_bytes() const noexcept { return word_bits() / 8; }
std::size_t parameters::limb_bytes() const noexcept { return n() * word_bytes(); }

std::span<const std::uint64_t> parameters::primes() const noexcept { return data_->primes; }
unsigned parameters::prime_count() const noexcept { return static_cast<unsigned>(data_->primes.size()); }
unsigned parameters::special_count() const noexcept { return data_->special; }
unsigned parameters::terminal_count() const noexcept { return data_->terminals; }
unsigned parameters::main_count() const noexcept { return data_->mains; }
arith::window parameters::special_window() const noexcept { return {0, data_->special}; }
arith::window parameters::all_window() const noexcept { return {0, prime_count()}; }

unsigned parameters::max_level() const noexcept { return data_->source.depth; }

unsigned parameters::top_level() const noexcept {
  return static_cast<unsigned>(data_->levels.rows.size()) - 1;
}

const level_info& parameters::level(unsigned l) const {
  const auto [table, row] = data_->find(l);
  HALOCLINE_EXPECTS(table != nullptr, invalid_argument, "level ", l, " requested; parameters \"", name(),
                    "\" have levels 0..", top_level());
  return table->rows[row];
}

bool parameters::has_level(unsigned l) const noexcept { return data_->find(l).first != nullptr; }

std::optional<unsigned> parameters::lowered_offset(unsigned m) const noexcept {
  if (!data_->source.bootstrapping || m > max_level()) return std::nullopt;
  const unsigned offset = (max_level() - m) * lowered_stride;
  return has_level(offset) ? std::optional(offset) : std::nullopt;
}

unsigned parameters::key_level(unsigned l) const {
  const unsigned limbs = key_limbs(l);
  if (l <= top_level()) return l;
  const std::vector<unsigned>& of_levels = data_->levels.key_limbs;  // ascending
  return static_cast<unsigned>(std::ranges::lower_bound(of_levels, limbs) - of_levels.begin());
}

double parameters::target_scale() const noexcept { return std::exp2(data_->source.scale_bits); }
double parameters::base_modulus() const noexcept { return data_->base_modulus; }

const std::optional<bootstrap_literal>& parameters::bootstrapping() const noexcept {
  return data_->source.bootstrapping;
}

const std::optional<encapsulation_info>& parameters::encapsulation() const noexcept {
  return data_->encapsulation;
}

bool parameters::has_raised_keys() const noexcept {
  return data_->encapsulation && data_->encapsulation->raised_special.count != 0;
}

void parameters::require_raised_keys(std::string_view caller) const {
  HALOCLINE_EXPECTS(has_raised_keys(), invalid_argument, caller, ": parameters \"", name(),
                    "\" have no ephemeral secret, or too few special primes beside those of its switch; "
                    "expected a set with both, such as the preset n16-boot: choose one, or bootstrap without "
                    "from_sparse");
}

unsigned parameters::digit_size() const noexcept { return data_->source.digit_size; }

unsigned parameters::digit_count() const noexcept {
  const unsigned chain = data_->terminals + data_->mains;
  return (chain + digit_size() - 1) / digit_size();
}

arith::window parameters::digit(unsigned j) const {
  HALOCLINE_EXPECTS(j < digit_count(), invalid_argument, "digit ", j, " requested; parameters \"", name(),
                    "\" have digits 0..", digit_count() - 1);
  const unsigned first = special_count() + j * digit_size();
  return {first, std::min(digit_size(), prime_count() - first)};
}

unsigned parameters::key_limbs(unsigned l) const {
  const auto [table, row] = data_->find(l);
  HALOCLINE_EXPECTS(table != nullptr, invalid_argument, "key for level ", l, " requested; parameters \"",
                    name(), "\" have levels 0..", top_level());
  return table->key_limbs[row];
}

const secret_distribution& parameters::secret() const noexcept { return data_->source.secret; }
double parameters::error_stddev() const noexcept { return data_->source.error_stddev; }

unsigned parameters::galois_generator() const noexcept { return data_->source.galois_generator; }

std::uint64_t parameters::galois_element(std::int64_t rotation) const noexcept {
  const auto period = static_cast<std::int64_t>(slots());
  auto exponent = static_cast<std::uint64_t>((rotation % period + period) % period);
  const std::uint64_t mask = 2 * n() - 1;
  std::uint64_t result = 1;
  for (std::uint64_t base = galois_generator(); exponent != 0; exponent >>= 1U) {
    if ((exponent & 1U) != 0) result = result * base & mask;
    base = base * base & mask;
  }
  return result;
}

std::uint64_t parameters::conjugation_element() const noexcept { return 2 * n() - 1; }

double parameters::log2_q() const noexcept { return data_->levels.rows.back().log2_modulus; }
double parameters::log2_p() const noexcept { return data_->log2_p; }
double parameters::log2_pq() const noexcept { return data_->log2_pq; }
const security_estimate& parameters::security() const noexcept { return data_->security; }

double parameters::security_bits() const noexcept {
  const double main = data_->security.bits;
  return data_->encapsulation ? std::min(main, data_->encapsulation->security.bits) : main;
}

const fingerprint_bytes& parameters::fingerprint() const noexcept { return data_->fingerprint; }

}  // namespace halocline::params
