// SPDX-License-Identifier: Apache-2.0
#include "seal/context.h"

#include <bit>
#include <mutex>

#include "seal/detail/access.h"

namespace seal {
namespace {

using error_type = EncryptionParameterQualifiers::error_type;

struct error_text {
  error_type error;
  const char* name;
  const char* message;
};

constexpr error_text error_texts[] = {
    {error_type::none, "none", "constructed but not yet validated"},
    {error_type::success, "success", "valid"},
    {error_type::invalid_scheme, "invalid_scheme", "scheme must be BFV or CKKS or BGV"},
    {error_type::invalid_coeff_modulus_size, "invalid_coeff_modulus_size",
     "coeff_modulus must have 1 to 256 primes"},
    {error_type::invalid_coeff_modulus_bit_count, "invalid_coeff_modulus_bit_count",
     "primes of coeff_modulus must have 2 to 60 bits"},
    {error_type::invalid_coeff_modulus_no_ntt, "invalid_coeff_modulus_no_ntt",
     "primes of coeff_modulus must be 1 modulo 2 * poly_modulus_degree"},
    {error_type::invalid_poly_modulus_degree, "invalid_poly_modulus_degree",
     "poly_modulus_degree must be between 2 and 131072"},
    {error_type::invalid_poly_modulus_degree_non_power_of_two, "invalid_poly_modulus_degree_non_power_of_two",
     "poly_modulus_degree must be a power of two"},
    {error_type::invalid_parameters_too_large, "invalid_parameters_too_large", "parameters are too large"},
    {error_type::invalid_parameters_insecure, "invalid_parameters_insecure",
     "parameters are less secure than the HomomorphicEncryption.org standard demands for the security level"},
    {error_type::failed_creating_rns_base, "failed_creating_rns_base",
     "coeff_modulus must consist of different primes"},
    {error_type::invalid_plain_modulus_bit_count, "invalid_plain_modulus_bit_count",
     "plain_modulus must have 2 to 60 bits"},
    {error_type::invalid_plain_modulus_coprimality, "invalid_plain_modulus_coprimality",
     "plain_modulus must be coprime to coeff_modulus"},
    {error_type::invalid_plain_modulus_too_large, "invalid_plain_modulus_too_large",
     "plain_modulus must be smaller than coeff_modulus"},
    {error_type::invalid_plain_modulus_nonzero, "invalid_plain_modulus_nonzero",
     "plain_modulus must be zero"},
    {error_type::failed_creating_rns_tool, "failed_creating_rns_tool",
     "constants of the parameters do not exist"},
    {error_type::invalid_coeff_modulus_non_prime, "invalid_coeff_modulus_non_prime",
     "coeff_modulus must consist of primes"},
};

const error_text& text_of(error_type error) noexcept {
  for (const error_text& text : error_texts) {
    if (text.error == error) return text;
  }
  return error_texts[0];
}

using number = std::vector<std::uint64_t>;  // words, the least first

/// Product of the primes, in as many words.
number product_of(const std::vector<Modulus>& primes) {
  number product(primes.size(), 0);
  product[0] = 1;
  for (const Modulus& prime : primes) {
    unsigned __int128 carry = 0;
    for (std::uint64_t& word : product) {
      carry += static_cast<unsigned __int128>(word) * prime.value();
      word = static_cast<std::uint64_t>(carry);
      carry >>= 64;
    }
  }
  return product;
}

int bits_of(const number& value) noexcept {
  for (std::size_t i = value.size(); i-- > 0;) {
    if (value[i] != 0) return static_cast<int>(64 * i + static_cast<std::size_t>(std::bit_width(value[i])));
  }
  return 0;
}

std::uint64_t remainder_of(const number& value, std::uint64_t modulus) noexcept {
  unsigned __int128 rest = 0;
  for (std::size_t i = value.size(); i-- > 0;) rest = ((rest << 64) | value[i]) % modulus;
  return static_cast<std::uint64_t>(rest);
}

/// (value + 1) / 2 of an odd value.
number upper_half(const number& value) {
  number half(value.size());
  for (std::size_t i = 0; i < value.size(); ++i) {
    half[i] = (value[i] >> 1) | (i + 1 < value.size() ? value[i + 1] << 63 : 0);
  }
  for (std::uint64_t& word : half) {  // + 1: the bit that was shifted out
    if (++word != 0) break;
  }
  return half;
}

/// value - less, for less <= value.
number difference(number value, std::uint64_t less) {
  for (std::uint64_t& word : value) {
    const bool borrow = word < less;
    word -= less;
    if (!borrow) break;
    less = 1;
  }
  return value;
}

bool are_different(const std::vector<Modulus>& primes) {
  std::vector<Modulus> sorted = primes;
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
}

/// What is wrong with the primes by themselves.
error_type check_primes(const std::vector<Modulus>& primes) {
  if (primes.empty() || primes.size() > SEAL_COEFF_MOD_COUNT_MAX)
    return error_type::invalid_coeff_modulus_size;
  for (const Modulus& prime : primes) {
    if (prime.bit_count() < SEAL_USER_MOD_BIT_COUNT_MIN || prime.bit_count() > SEAL_USER_MOD_BIT_COUNT_MAX) {
      return error_type::invalid_coeff_modulus_bit_count;
    }
  }
  const bool prime = std::all_of(primes.begin(), primes.end(), [](const Modulus& q) { return q.is_prime(); });
  return prime ? error_type::success : error_type::invalid_coeff_modulus_non_prime;
}

/// What is wrong with ring degree and security; notes what is right.
error_type check_degree(const EncryptionParameters& parms, int total_bits, sec_level_type sec_level,
                        EncryptionParameterQualifiers& to) {
  const std::size_t n = parms.poly_modulus_degree();
  if (n < SEAL_POLY_MOD_DEGREE_MIN || n > SEAL_POLY_MOD_DEGREE_MAX)
    return error_type::invalid_poly_modulus_degree;
  if (!std::has_single_bit(n)) return error_type::invalid_poly_modulus_degree_non_power_of_two;
  to.using_fft = true;
  if (total_bits > CoeffModulus::MaxBitCount(n, sec_level)) return error_type::invalid_parameters_insecure;
  to.sec_level = sec_level;
  if (!are_different(parms.coeff_modulus())) return error_type::failed_creating_rns_base;
  for (const Modulus& prime : parms.coeff_modulus()) {
    if (prime.value() % (2 * n) != 1) return error_type::invalid_coeff_modulus_no_ntt;
  }
  to.using_ntt = true;
  return error_type::success;
}

/// What is wrong with the plaintext modulus; notes what is right.
error_type check_plain(const EncryptionParameters& parms, const number& product,
                       EncryptionParameterQualifiers& to) {
  const Modulus& plain = parms.plain_modulus();
  const std::vector<Modulus>& primes = parms.coeff_modulus();
  if (parms.scheme() == scheme_type::ckks) {
    to.using_batching = true;
    return plain.is_zero() ? error_type::success : error_type::invalid_plain_modulus_nonzero;
  }
  if (plain.bit_count() < SEAL_PLAIN_MOD_BIT_COUNT_MIN || plain.bit_count() > SEAL_PLAIN_MOD_BIT_COUNT_MAX) {
    return error_type::invalid_plain_modulus_bit_count;
  }
  for (const Modulus& prime : primes) {
    if (std::gcd(prime.value(), plain.value()) != 1) return error_type::invalid_plain_modulus_coprimality;
  }
  if (bits_of(product) <= 64 && plain.value() >= product[0])
    return error_type::invalid_plain_modulus_too_large;
  to.using_batching = plain.is_prime() && plain.value() % (2 * parms.poly_modulus_degree()) == 1;
  to.using_fast_plain_lift =
      std::all_of(primes.begin(), primes.end(), [&](const Modulus& q) { return plain.value() < q.value(); });
  return error_type::success;
}

}  // namespace

const char* EncryptionParameterQualifiers::parameter_error_name() const noexcept {
  return text_of(parameter_error).name;
}

const char* EncryptionParameterQualifiers::parameter_error_message() const noexcept {
  return text_of(parameter_error).message;
}

struct SEALContext::contents {
  parms_id_type key_id = parms_id_zero;
  parms_id_type first_id = parms_id_zero;
  parms_id_type last_id = parms_id_zero;
  std::unordered_map<parms_id_type, std::shared_ptr<const ContextData>> data;
  std::mutex engines_mutex;
  std::shared_ptr<halocline_detail::engines> engines;
};

void SEALContext::ContextData::set_plain_constants() {
  const std::vector<Modulus>& primes = parms_.coeff_modulus();
  const std::uint64_t plain = parms_.plain_modulus().value();
  if (parms_.scheme() == scheme_type::ckks) {
    plain_upper_half_threshold_ = std::uint64_t{1} << 63;
    upper_half_threshold_ = upper_half(total_coeff_modulus_);
    for (const Modulus& prime : primes) {
      const std::uint64_t rest = remainder_of({0, 1}, prime.value());
      plain_upper_half_increment_.push_back(prime.value() - rest);
    }
    return;
  }
  plain_upper_half_threshold_ = (plain + 1) / 2;
  coeff_modulus_mod_plain_modulus_ = remainder_of(total_coeff_modulus_, plain);
  if (parms_.scheme() == scheme_type::bfv) {
    for (const Modulus& prime : primes) {
      upper_half_increment_.push_back(coeff_modulus_mod_plain_modulus_ % prime.value());
    }
  }
  if (!qualifiers_.using_fast_plain_lift) {
    plain_upper_half_increment_ = difference(total_coeff_modulus_, plain);
    return;
  }
  for (const Modulus& prime : primes) plain_upper_half_increment_.push_back(prime.value() - plain);
}

std::shared_ptr<SEALContext::ContextData> SEALContext::validate(const EncryptionParameters& parms,
                                                                sec_level_type sec_level) {
  std::shared_ptr<ContextData> made(new ContextData(parms));
  EncryptionParameterQualifiers& to = made->qualifiers_;
  if (parms.scheme() == scheme_type::none) {
    to.parameter_error = error_type::invalid_scheme;
    return made;
  }
  const std::vector<Modulus>& primes = parms.coeff_modulus();
  to.parameter_error = check_primes(primes);
  if (!to.parameters_set()) return made;
  made->total_coeff_modulus_ = product_of(primes);
  made->total_coeff_modulus_bit_count_ = bits_of(made->total_coeff_modulus_);
  to.parameter_error = check_degree(parms, made->total_coeff_modulus_bit_count_, sec_level, to);
  if (!to.parameters_set()) return made;
  to.parameter_error = check_plain(parms, made->total_coeff_modulus_, to);
  if (!to.parameters_set()) return made;
  to.using_descending_modulus_chain =
      std::is_sorted(primes.begin(), primes.end(), [](const Modulus& a, const Modulus& b) { return a > b; });
  made->set_plain_constants();
  return made;
}

std::shared_ptr<SEALContext::ContextData> SEALContext::expand(contents& to, std::shared_ptr<ContextData> prev,
                                                              sec_level_type sec_level) {
  EncryptionParameters parms = prev->parms();
  std::vector<Modulus> primes = parms.coeff_modulus();
  if (!prev->qualifiers_.parameters_set() || primes.size() < 2) return nullptr;
  primes.pop_back();
  parms.set_coeff_modulus(primes);
  std::shared_ptr<ContextData> next = validate(parms, sec_level);
  if (!next->qualifiers_.parameters_set()) return nullptr;
  next->prev_ = prev;
  prev->next_ = next;
  to.data.emplace(next->parms_id(), next);
  return next;
}

SEALContext::SEALContext(const EncryptionParameters& parms, bool expand_mod_chain, sec_level_type sec_level)
    : contents_(std::make_shared<contents>()) {
  std::vector<std::shared_ptr<ContextData>> chain{validate(parms, sec_level)};
  contents_->data.emplace(chain[0]->parms_id(), chain[0]);
  // The special prime is dropped in any case, the others if the program requests it.
  const std::size_t most = expand_mod_chain ? std::numeric_limits<std::size_t>::max() : 2;
  while (chain.size() < most) {
    std::shared_ptr<ContextData> next = expand(*contents_, chain.back(), sec_level);
    if (next == nullptr) break;
    chain.push_back(std::move(next));
  }
  for (std::size_t i = 0; i < chain.size(); ++i) chain[i]->chain_index_ = chain.size() - 1 - i;
  contents_->key_id = chain.front()->parms_id();
  contents_->first_id = chain[chain.size() > 1 ? 1 : 0]->parms_id();
  contents_->last_id = chain.back()->parms_id();
}

const std::shared_ptr<SEALContext::contents>& SEALContext::nothing() noexcept {
  static const auto* kept = new std::shared_ptr<contents>(std::make_shared<contents>());
  return *kept;
}

SEALContext::SEALContext(SEALContext&& source) noexcept
    : contents_(std::exchange(source.contents_, nothing())) {}

SEALContext& SEALContext::operator=(SEALContext&& source) noexcept {
  if (this != &source) contents_ = std::exchange(source.contents_, nothing());
  return *this;
}

bool SEALContext::parameters_set() const {
  const auto first = first_context_data();
  return first != nullptr && first->qualifiers_.parameters_set();
}

const char* SEALContext::parameter_error_name() const {
  const auto first = first_context_data();
  return first == nullptr ? "none" : first->qualifiers_.parameter_error_name();
}

const char* SEALContext::parameter_error_message() const {
  const auto first = first_context_data();
  return first == nullptr ? "the context is empty: it was moved from"
                          : first->qualifiers_.parameter_error_message();
}

std::shared_ptr<const SEALContext::ContextData> SEALContext::get_context_data(parms_id_type parms_id) const {
  const auto found = contents_->data.find(parms_id);
  return found == contents_->data.end() ? nullptr : found->second;
}

std::shared_ptr<const SEALContext::ContextData> SEALContext::key_context_data() const {
  return get_context_data(contents_->key_id);
}

std::shared_ptr<const SEALContext::ContextData> SEALContext::first_context_data() const {
  return get_context_data(contents_->first_id);
}

std::shared_ptr<const SEALContext::ContextData> SEALContext::last_context_data() const {
  return get_context_data(contents_->last_id);
}

const parms_id_type& SEALContext::key_parms_id() const noexcept { return contents_->key_id; }
const parms_id_type& SEALContext::first_parms_id() const noexcept { return contents_->first_id; }
const parms_id_type& SEALContext::last_parms_id() const noexcept { return contents_->last_id; }
bool SEALContext::using_keyswitching() const noexcept { return contents_->key_id != contents_->first_id; }

namespace halocline_detail {

std::shared_ptr<engines>& context_access::slot(const SEALContext& of) noexcept {
  return of.contents_->engines;
}
std::mutex& context_access::engines_mutex(const SEALContext& of) noexcept {
  return of.contents_->engines_mutex;
}

}  // namespace halocline_detail
}  // namespace seal
