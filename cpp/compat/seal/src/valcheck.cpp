// SPDX-License-Identifier: Apache-2.0
#include "seal/valcheck.h"

namespace seal {
namespace {

using context_data = std::shared_ptr<const SEALContext::ContextData>;

/// Parameters of an object: none if the context does not have them, or has them for keys only.
context_data find(const SEALContext& context, const parms_id_type& parms_id, bool allow_pure_key_levels) {
  if (!context.parameters_set()) return nullptr;
  context_data found = context.get_context_data(parms_id);
  if (found == nullptr) return nullptr;
  const bool for_keys_only = found->chain_index() > context.first_context_data()->chain_index();
  return for_keys_only && !allow_pure_key_levels ? nullptr : found;
}

bool is_scale_valid(double scale, scheme_type scheme) noexcept {
  if (scheme == scheme_type::ckks) return std::isnormal(scale) && scale > 0;
  return scale == 1.0;
}

/// Whether each residue of `words`, polynomials in the order [polynomial][prime][coefficient], is below its
/// prime.
bool are_residues(const DynArray<std::uint64_t>& words, const EncryptionParameters& parms) {
  const std::size_t n = parms.poly_modulus_degree();
  const std::vector<Modulus>& primes = parms.coeff_modulus();
  for (std::size_t limb = 0; limb * n < words.size(); ++limb) {
    const std::uint64_t q = primes[limb % primes.size()].value();
    const std::uint64_t* begin = words.data() + limb * n;
    if (std::any_of(begin, begin + n, [q](std::uint64_t word) { return word >= q; })) return false;
  }
  return true;
}

template <typename CheckT>
bool all_of(const KSwitchKeys& in, CheckT check) {
  return std::all_of(in.data().begin(), in.data().end(), [&](const std::vector<PublicKey>& key) {
    return std::all_of(key.begin(), key.end(), check);
  });
}

/// Keys of one index: none, or one for each data prime.
bool has_all_digits(const std::vector<PublicKey>& key, std::size_t digits) noexcept {
  return key.empty() || key.size() == digits;
}

bool is_keys_metadata_valid(const KSwitchKeys& in, const SEALContext& context, std::size_t most) {
  if (!context.parameters_set() || !context.using_keyswitching()) return false;
  if (in.parms_id() != context.key_parms_id() || in.data().size() > most) return false;
  const std::size_t digits = context.first_context_data()->parms().coeff_modulus().size();
  return std::all_of(in.data().begin(), in.data().end(),
                     [&](const std::vector<PublicKey>& key) { return has_all_digits(key, digits); }) &&
         all_of(in, [&](const PublicKey& digit) { return is_metadata_valid_for(digit, context); });
}

}  // namespace

bool is_metadata_valid_for(const Plaintext& in, const SEALContext& context, bool allow_pure_key_levels) {
  if (!context.parameters_set()) return false;
  const EncryptionParameters& top = context.first_context_data()->parms();
  if (in.is_ntt_form()) {
    const context_data data = find(context, in.parms_id(), allow_pure_key_levels);
    if (data == nullptr) return false;
    const EncryptionParameters& parms = data->parms();
    return in.coeff_count() == parms.poly_modulus_degree() * parms.coeff_modulus().size() &&
           is_scale_valid(in.scale(), parms.scheme());
  }
  return top.scheme() != scheme_type::ckks && in.coeff_count() <= top.poly_modulus_degree() &&
         is_scale_valid(in.scale(), top.scheme());
}

bool is_metadata_valid_for(const Ciphertext& in, const SEALContext& context, bool allow_pure_key_levels) {
  const context_data data = find(context, in.parms_id(), allow_pure_key_levels);
  if (data == nullptr) return false;
  const EncryptionParameters& parms = data->parms();
  const bool is_empty = in.size() == 0;
  const bool size_fits = in.size() >= SEAL_CIPHERTEXT_SIZE_MIN && in.size() <= SEAL_CIPHERTEXT_SIZE_MAX;
  const bool factor_fits =
      parms.scheme() == scheme_type::bgv
          ? in.correction_factor() != 0 && in.correction_factor() < parms.plain_modulus().value()
          : in.correction_factor() == 1;
  return (is_empty || size_fits) && in.poly_modulus_degree() == parms.poly_modulus_degree() &&
         in.coeff_modulus_size() == parms.coeff_modulus().size() &&
         is_scale_valid(in.scale(), parms.scheme()) && factor_fits;
}

bool is_metadata_valid_for(const SecretKey& in, const SEALContext& context) {
  return in.parms_id() == context.key_parms_id() && is_metadata_valid_for(in.data(), context, true);
}

bool is_metadata_valid_for(const PublicKey& in, const SEALContext& context) {
  return in.parms_id() == context.key_parms_id() && is_metadata_valid_for(in.data(), context, true) &&
         in.data().is_ntt_form() && in.data().size() == SEAL_CIPHERTEXT_SIZE_MIN;
}

bool is_metadata_valid_for(const KSwitchKeys& in, const SEALContext& context) {
  return is_keys_metadata_valid(in, context, SEAL_POLY_MOD_DEGREE_MAX);
}

bool is_metadata_valid_for(const RelinKeys& in, const SEALContext& context) {
  return is_keys_metadata_valid(in, context, SEAL_CIPHERTEXT_SIZE_MAX - 2);
}

bool is_metadata_valid_for(const GaloisKeys& in, const SEALContext& context) {
  return context.parameters_set() &&
         is_keys_metadata_valid(in, context, context.key_context_data()->parms().poly_modulus_degree());
}

bool is_buffer_valid(const Plaintext& in) { return in.dyn_array().size() == in.coeff_count(); }

bool is_buffer_valid(const Ciphertext& in) {
  return in.dyn_array().size() == in.size() * in.coeff_modulus_size() * in.poly_modulus_degree();
}

bool is_buffer_valid(const SecretKey& in) { return is_buffer_valid(in.data()); }
bool is_buffer_valid(const PublicKey& in) { return is_buffer_valid(in.data()); }
bool is_buffer_valid(const KSwitchKeys& in) {
  return all_of(in, [](const PublicKey& digit) { return is_buffer_valid(digit); });
}
bool is_buffer_valid(const RelinKeys& in) { return is_buffer_valid(static_cast<const KSwitchKeys&>(in)); }
bool is_buffer_valid(const GaloisKeys& in) { return is_buffer_valid(static_cast<const KSwitchKeys&>(in)); }

bool is_data_valid_for(const Plaintext& in, const SEALContext& context) {
  if (!is_metadata_valid_for(in, context, true) || !is_buffer_valid(in)) return false;
  if (in.is_ntt_form()) return are_residues(in.dyn_array(), context.get_context_data(in.parms_id())->parms());
  const std::uint64_t t = context.first_context_data()->parms().plain_modulus().value();
  return std::all_of(in.data(), in.data() + in.coeff_count(), [t](std::uint64_t word) { return word < t; });
}

bool is_data_valid_for(const Ciphertext& in, const SEALContext& context) {
  return is_metadata_valid_for(in, context, true) && is_buffer_valid(in) &&
         are_residues(in.dyn_array(), context.get_context_data(in.parms_id())->parms());
}

bool is_data_valid_for(const SecretKey& in, const SEALContext& context) {
  return is_metadata_valid_for(in, context) && is_data_valid_for(in.data(), context);
}

bool is_data_valid_for(const PublicKey& in, const SEALContext& context) {
  return is_metadata_valid_for(in, context) && is_data_valid_for(in.data(), context);
}

bool is_data_valid_for(const KSwitchKeys& in, const SEALContext& context) {
  return is_metadata_valid_for(in, context) &&
         all_of(in, [&](const PublicKey& digit) { return is_data_valid_for(digit, context); });
}

bool is_data_valid_for(const RelinKeys& in, const SEALContext& context) {
  return is_metadata_valid_for(in, context) &&
         is_data_valid_for(static_cast<const KSwitchKeys&>(in), context);
}

bool is_data_valid_for(const GaloisKeys& in, const SEALContext& context) {
  return is_metadata_valid_for(in, context) &&
         is_data_valid_for(static_cast<const KSwitchKeys&>(in), context);
}

bool is_valid_for(const Plaintext& in, const SEALContext& context) {
  return is_metadata_valid_for(in, context) && is_data_valid_for(in, context);
}

bool is_valid_for(const Ciphertext& in, const SEALContext& context) {
  return is_metadata_valid_for(in, context) && is_data_valid_for(in, context);
}

bool is_valid_for(const SecretKey& in, const SEALContext& context) { return is_data_valid_for(in, context); }
bool is_valid_for(const PublicKey& in, const SEALContext& context) { return is_data_valid_for(in, context); }
bool is_valid_for(const KSwitchKeys& in, const SEALContext& context) {
  return is_data_valid_for(in, context);
}
bool is_valid_for(const RelinKeys& in, const SEALContext& context) { return is_data_valid_for(in, context); }
bool is_valid_for(const GaloisKeys& in, const SEALContext& context) { return is_data_valid_for(in, context); }

}  // namespace seal
