// SPDX-License-Identifier: Apache-2.0
// The names, forms and types that programs for SEAL use, as its documentation and seal-python's stub list
// them. What they do is tested elsewhere; here they must exist. Mostly compiled, hardly run.
#include <gtest/gtest.h>

#include "seal/seal.h"
#include "seal/util/numth.h"

namespace seal {
namespace {

template <typename ObjectT>
concept saved_object = requires(const ObjectT& object, std::ostream& to, seal_byte* out, std::size_t size) {
  { object.save_size() } -> std::same_as<std::streamoff>;
  { object.save_size(compr_mode_type::none) } -> std::same_as<std::streamoff>;
  { object.save(to) } -> std::same_as<std::streamoff>;
  { object.save(to, compr_mode_type::zlib) } -> std::same_as<std::streamoff>;
  { object.save(out, size) } -> std::same_as<std::streamoff>;
  { object.save(out, size, compr_mode_type::zstd) } -> std::same_as<std::streamoff>;
};

template <typename ObjectT>
concept plain_file = saved_object<ObjectT> &&
    requires(ObjectT object, std::istream& from, const seal_byte* in) {
  { object.load(from) } -> std::same_as<std::streamoff>;
  { object.load(in, std::size_t{}) } -> std::same_as<std::streamoff>;
};

template <typename ObjectT>
concept context_file = saved_object<ObjectT> &&
    requires(ObjectT object, const SEALContext& context, std::istream& from, const seal_byte* in) {
  { object.load(context, from) } -> std::same_as<std::streamoff>;
  { object.load(context, in, std::size_t{}) } -> std::same_as<std::streamoff>;
  { object.unsafe_load(context, from) } -> std::same_as<std::streamoff>;
  { object.unsafe_load(context, in, std::size_t{}) } -> std::same_as<std::streamoff>;
  { object.parms_id() } -> std::same_as<parms_id_type&>;
  { std::as_const(object).parms_id() } -> std::same_as<const parms_id_type&>;
  { object.pool() } -> std::same_as<MemoryPoolHandle>;
  { is_valid_for(object, context) } -> std::same_as<bool>;
  { is_data_valid_for(object, context) } -> std::same_as<bool>;
  { is_metadata_valid_for(object, context) } -> std::same_as<bool>;
  { is_buffer_valid(object) } -> std::same_as<bool>;
};

static_assert(plain_file<Modulus> && plain_file<EncryptionParameters> &&
              plain_file<UniformRandomGeneratorInfo>);
static_assert(plain_file<DynArray<std::uint64_t>> && plain_file<DynArray<seal_byte>>);
static_assert(context_file<Ciphertext> && context_file<Plaintext> && context_file<SecretKey>);
static_assert(context_file<PublicKey> && context_file<KSwitchKeys> && context_file<RelinKeys>);
static_assert(context_file<GaloisKeys>);
static_assert(saved_object<Serializable<Ciphertext>> && saved_object<Serializable<PublicKey>>);
static_assert(saved_object<Serializable<RelinKeys>> && saved_object<Serializable<GaloisKeys>>);

/// Objects are copied and moved as in SEAL; what holds secrets or state is not.
template <typename ObjectT>
constexpr bool is_value = std::is_copy_constructible_v<ObjectT>&& std::is_copy_assignable_v<ObjectT>&&
    std::is_nothrow_move_constructible_v<ObjectT>;
static_assert(is_value<Ciphertext> && is_value<Plaintext> && is_value<SecretKey> && is_value<GaloisKeys>);
static_assert(is_value<SEALContext> && is_value<EncryptionParameters> && is_value<Modulus>);
static_assert(!std::is_copy_constructible_v<KeyGenerator> && !std::is_copy_constructible_v<Decryptor>);
static_assert(std::is_base_of_v<KSwitchKeys, RelinKeys> && std::is_base_of_v<KSwitchKeys, GaloisKeys>);
static_assert(std::is_same_v<Ciphertext::ct_coeff_type, std::uint64_t>);
static_assert(std::is_same_v<Plaintext::pt_coeff_type, std::uint64_t>);
static_assert(std::is_same_v<parms_id_type, std::array<std::uint64_t, 4>>);
static_assert(std::is_convertible_v<std::uint64_t, Modulus> &&
              std::is_convertible_v<const char*, std::string>);

static_assert(requires(const Ciphertext& in, Ciphertext out, const SEALContext& context, parms_id_type id,
                       MemoryPoolHandle pool) {
  Ciphertext(pool);
  Ciphertext(context, pool);
  Ciphertext(context, id, pool);
  Ciphertext(context, id, std::size_t{3}, pool);
  Ciphertext(in, pool);
  out.reserve(context, id, 3);
  out.reserve(context, 3);
  out.reserve(3);
  out.resize(context, id, 3);
  out.resize(context, 3);
  out.resize(3);
  out.release();
  { out.data() } -> std::same_as<std::uint64_t*>;
  { in.data() } -> std::same_as<const std::uint64_t*>;
  { out.data(1) } -> std::same_as<std::uint64_t*>;
  { in.data(1) } -> std::same_as<const std::uint64_t*>;
  { out[1] } -> std::same_as<std::uint64_t&>;
  { in[1] } -> std::same_as<const std::uint64_t&>;
  { in.dyn_array() } -> std::same_as<const DynArray<std::uint64_t>&>;
  { in.is_transparent() } -> std::same_as<bool>;
  { out.is_ntt_form() } -> std::same_as<bool&>;
  { out.scale() } -> std::same_as<double&>;
  { out.correction_factor() } -> std::same_as<std::uint64_t&>;
  in.size() + in.size_capacity() + in.coeff_modulus_size() + in.poly_modulus_degree();
});

static_assert(requires(const Plaintext& in, Plaintext out, std::string text, MemoryPoolHandle pool,
                       std::vector<std::uint64_t> words) {
  Plaintext(pool);
  Plaintext(std::size_t{4}, pool);
  Plaintext(std::size_t{4}, std::size_t{2}, pool);
  Plaintext(text, pool);
  Plaintext("1x^2");
  Plaintext(std::span<const std::uint64_t>(words), pool);
  Plaintext(in, pool);
  out = text;
  out = "1";
  out = std::uint64_t{5};
  { in == out } -> std::same_as<bool>;
  { in != out } -> std::same_as<bool>;
  { out.data(1) } -> std::same_as<std::uint64_t*>;
  { in[1] } -> std::same_as<const std::uint64_t&>;
  { out.scale() } -> std::same_as<double&>;
  { in.to_string() } -> std::same_as<std::string>;
  { in.is_ntt_form() } -> std::same_as<bool>;
  in.capacity() + in.coeff_count() + in.significant_coeff_count() + in.nonzero_coeff_count();
});

static_assert(requires(KeyGenerator & keygen, PublicKey pub, RelinKeys relin, GaloisKeys galois,
                       std::vector<std::uint32_t> elements, std::vector<int> steps) {
  { keygen.secret_key() } -> std::same_as<const SecretKey&>;
  keygen.create_public_key(pub);
  keygen.create_relin_keys(relin);
  keygen.create_galois_keys(galois);
  keygen.create_galois_keys(elements, galois);
  keygen.create_galois_keys(steps, galois);
  { keygen.create_public_key() } -> std::same_as<Serializable<PublicKey>>;
  { keygen.create_relin_keys() } -> std::same_as<Serializable<RelinKeys>>;
  { keygen.create_galois_keys() } -> std::same_as<Serializable<GaloisKeys>>;
  { keygen.create_galois_keys(elements) } -> std::same_as<Serializable<GaloisKeys>>;
  { keygen.create_galois_keys(steps) } -> std::same_as<Serializable<GaloisKeys>>;
});

static_assert(requires(Encryptor & encryptor, const Plaintext& plain, Ciphertext out, parms_id_type id,
                       MemoryPoolHandle pool, PublicKey pub, SecretKey secret) {
  encryptor.set_public_key(pub);
  encryptor.set_secret_key(secret);
  encryptor.encrypt(plain, out, pool);
  encryptor.encrypt_zero(out, pool);
  encryptor.encrypt_zero(id, out, pool);
  encryptor.encrypt_symmetric(plain, out, pool);
  encryptor.encrypt_zero_symmetric(out, pool);
  encryptor.encrypt_zero_symmetric(id, out, pool);
  { encryptor.encrypt(plain) } -> std::same_as<Serializable<Ciphertext>>;
  { encryptor.encrypt_zero() } -> std::same_as<Serializable<Ciphertext>>;
  { encryptor.encrypt_zero(id) } -> std::same_as<Serializable<Ciphertext>>;
  { encryptor.encrypt_symmetric(plain) } -> std::same_as<Serializable<Ciphertext>>;
  { encryptor.encrypt_zero_symmetric() } -> std::same_as<Serializable<Ciphertext>>;
  { encryptor.encrypt_zero_symmetric(id) } -> std::same_as<Serializable<Ciphertext>>;
});

static_assert(requires(Decryptor & decryptor, const Ciphertext& in, Plaintext out) {
  decryptor.decrypt(in, out);
  { decryptor.invariant_noise_budget(in) } -> std::same_as<int>;
});

static_assert(requires(const Evaluator& evaluator, Ciphertext a, const Ciphertext& b, Ciphertext out,
                       std::vector<Ciphertext> all, MemoryPoolHandle pool, parms_id_type id) {
  evaluator.negate_inplace(a), evaluator.negate(b, out);
  evaluator.add_inplace(a, b), evaluator.add(a, b, out), evaluator.add_many(all, out);
  evaluator.sub_inplace(a, b), evaluator.sub(a, b, out);
  evaluator.multiply_inplace(a, b, pool), evaluator.multiply(a, b, out, pool);
  evaluator.square_inplace(a, pool), evaluator.square(b, out, pool);
  evaluator.mod_switch_to_next_inplace(a, pool), evaluator.mod_switch_to_next(b, out, pool);
  evaluator.mod_switch_to_inplace(a, id, pool), evaluator.mod_switch_to(b, id, out, pool);
  evaluator.mod_reduce_to_next_inplace(a, pool), evaluator.mod_reduce_to_next(b, out, pool);
  evaluator.mod_reduce_to_inplace(a, id, pool), evaluator.mod_reduce_to(b, id, out, pool);
  evaluator.rescale_to_next_inplace(a, pool), evaluator.rescale_to_next(b, out, pool);
  evaluator.rescale_to_inplace(a, id, pool), evaluator.rescale_to(b, id, out, pool);
  evaluator.transform_to_ntt_inplace(a), evaluator.transform_to_ntt(b, out);
  evaluator.transform_from_ntt_inplace(a), evaluator.transform_from_ntt(b, out);
});

static_assert(requires(const Evaluator& evaluator, Ciphertext a, const Ciphertext& b, Ciphertext out,
                       Plaintext plain, std::vector<Ciphertext> all, RelinKeys relin, GaloisKeys galois,
                       MemoryPoolHandle pool, parms_id_type id) {
  evaluator.relinearize_inplace(a, relin, pool), evaluator.relinearize(b, relin, out, pool);
  evaluator.multiply_many(all, relin, out, pool);
  evaluator.exponentiate_inplace(a, 3, relin, pool), evaluator.exponentiate(b, 3, relin, out, pool);
  evaluator.add_plain_inplace(a, plain), evaluator.add_plain(b, plain, out);
  evaluator.sub_plain_inplace(a, plain), evaluator.sub_plain(b, plain, out);
  evaluator.multiply_plain_inplace(a, plain, pool), evaluator.multiply_plain(b, plain, out, pool);
  evaluator.mod_switch_to_next_inplace(plain), evaluator.mod_switch_to_next(plain, plain);
  evaluator.mod_switch_to_inplace(plain, id), evaluator.mod_switch_to(plain, id, plain);
  evaluator.transform_to_ntt_inplace(plain, id, pool), evaluator.transform_to_ntt(plain, id, plain, pool);
  evaluator.apply_galois_inplace(a, 3, galois, pool), evaluator.apply_galois(b, 3, galois, out, pool);
  evaluator.rotate_vector_inplace(a, -1, galois, pool), evaluator.rotate_vector(b, -1, galois, out, pool);
  evaluator.complex_conjugate_inplace(a, galois, pool), evaluator.complex_conjugate(b, galois, out, pool);
  evaluator.rotate_rows_inplace(a, 1, galois, pool), evaluator.rotate_rows(b, 1, galois, out, pool);
  evaluator.rotate_columns_inplace(a, galois, pool), evaluator.rotate_columns(b, galois, out, pool);
});

static_assert(requires(const CKKSEncoder& encoder, Plaintext out, std::vector<double> reals,
                       std::vector<std::complex<double>> slots, parms_id_type id, MemoryPoolHandle pool) {
  { encoder.slot_count() } -> std::same_as<std::size_t>;
  encoder.encode(reals, id, 4.0, out, pool), encoder.encode(reals, 4.0, out, pool);
  encoder.encode(slots, id, 4.0, out, pool), encoder.encode(slots, 4.0, out, pool);
  encoder.encode(std::span<const double>(reals), 4.0, out);
  encoder.encode(std::span<double>(reals), id, 4.0, out);
  encoder.encode(std::span<const std::complex<double>>(slots), 4.0, out);
  encoder.encode(1.5, id, 4.0, out, pool), encoder.encode(1.5, 4.0, out, pool);
  encoder.encode(1, 4.0, out);
  encoder.encode(std::complex<double>(1, 2), id, 4.0, out, pool);
  encoder.encode(std::complex<double>(1, 2), 4.0, out, pool);
  encoder.encode(std::int64_t{5}, id, out), encoder.encode(std::int64_t{5}, out), encoder.encode(5, out);
  encoder.decode(out, reals, pool), encoder.decode(out, slots, pool);
  encoder.decode(out, std::span<double>(reals), pool);
});

static_assert(requires(const BatchEncoder& encoder, Plaintext out, std::vector<std::uint64_t> words,
                       std::vector<std::int64_t> numbers) {
  { encoder.slot_count() } -> std::same_as<std::size_t>;
  encoder.encode(words, out), encoder.encode(numbers, out);
  encoder.decode(out, words), encoder.decode(out, numbers);
});

TEST(SealInterface, ExampleProgramsFindTheirHelpers) {
  const std::uint64_t value = 0x1F0A;
  EXPECT_EQ(util::uint_to_hex_string(&value, 1), "1F0A");
  EXPECT_EQ(util::get_significant_bit_count(value), 13);
  EXPECT_EQ(util::get_significant_bit_count(0), 0);
  EXPECT_TRUE(util::is_prime(Modulus(17)) && !util::is_prime(Modulus(18)));
  EXPECT_EQ(util::uint_to_dec_string(&value, 1), "7946");
  const std::uint64_t large[] = {0, 1};
  EXPECT_EQ(util::uint_to_dec_string(large, 2), "18446744073709551616");
  EXPECT_EQ(util::uint_to_hex_string(large, 1), "0");
  EXPECT_TRUE(util::is_equal_uint(large, large, 2) && util::is_equal_uint(large, &value, 0));
  EXPECT_FALSE(util::is_equal_uint(large, large + 1, 1));
  EXPECT_EQ(std::string(SEAL_VERSION), "4.4.0");
  EXPECT_EQ(MemoryManager::GetPool().pool_count(), 1U);
#ifdef SEAL_USE_ZSTD
  EXPECT_EQ(Serialization::compr_mode_default, compr_mode_type::zstd);
#endif
#ifndef SEAL_USE_ZLIB
  EXPECT_FALSE(Serialization::IsSupportedComprMode(compr_mode_type::zlib));
#endif
}

}  // namespace
}  // namespace seal
