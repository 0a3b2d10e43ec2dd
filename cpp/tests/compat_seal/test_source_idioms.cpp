// SPDX-License-Identifier: Apache-2.0
// How programs of SEAL are written: names of their own beside `using namespace seal`, implicit conversions,
// generators of their own, headers of `seal/util`.
#include <numeric>

#include "seal_rig.hpp"

namespace detail {

int answer() { return 42; }

}  // namespace detail

using namespace seal;

namespace {

template <typename ObjectT>
ObjectT fresh() {
  return {};
}

template <typename ObjectT>
constexpr bool from_pool = std::is_convertible_v<MemoryPoolHandle, ObjectT>;
static_assert(from_pool<Ciphertext> && from_pool<Plaintext> && from_pool<DynArray<std::uint64_t>> &&
              from_pool<KSwitchKeys> && from_pool<RelinKeys> && from_pool<GaloisKeys>);

/// A program's aggregate of objects that refer to a context.
struct tools {
  SEALContext context;
  KeyGenerator keys;
  CKKSEncoder encoder;
  Evaluator evaluator;
};

TEST(CompatIdioms, ProgramsHaveNamespacesOfTheirOwn) { EXPECT_EQ(detail::answer(), 42); }

TEST(CompatIdioms, ConstructorsAreImplicit) {
  EXPECT_EQ(fresh<Ciphertext>().size() + fresh<Plaintext>().coeff_count() + fresh<PublicKey>().data().size(),
            0U);
  EXPECT_EQ(fresh<RelinKeys>().size() + fresh<GaloisKeys>().size() + fresh<DynArray<int>>().size(), 0U);
  Ciphertext cipher = MemoryManager::GetPool();
  cipher = {};
  EXPECT_EQ(cipher.size(), 0U);
  const EncryptionParameters parms = test::ckks_parameters(1024, {27});
  const SEALContext context = parms;
  EXPECT_TRUE(context.parameters_set());
  const tools all{parms, context, context, context};
  EXPECT_EQ(all.encoder.slot_count(), 512U);
  EXPECT_EQ(all.keys.secret_key().parms_id(), all.context.key_parms_id());
  const auto encryptor = [&]() -> Encryptor { return {context, all.keys.secret_key()}; };
  Plaintext plain;
  all.encoder.encode(1.0, 1024.0, plain);
  encryptor().encrypt_symmetric(plain, cipher);
  EXPECT_EQ(cipher.size(), 2U);
}

/// Bytes 0 to 255, again and again.
class sequence : public UniformRandomGenerator {
 public:
  sequence() : UniformRandomGenerator({}) {}
  [[nodiscard]] prng_type type() const noexcept override { return prng_type::unknown; }

 protected:
  void refill_buffer() override {
    std::iota(reinterpret_cast<std::uint8_t*>(buffer_begin_), reinterpret_cast<std::uint8_t*>(buffer_end_),
              std::uint8_t{0});
    buffer_head_ = buffer_begin_;
  }
};

TEST(CompatIdioms, GeneratorsOfPrograms) {
  sequence made;
  std::vector<seal_byte> bytes(5000);
  made.generate(bytes.size(), bytes.data());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    ASSERT_EQ(bytes[i], static_cast<seal_byte>(i < 4096 ? i % 256 : (i - 4096) % 256)) << i;
  }
  made.refresh();
  EXPECT_EQ(made.generate(), 0x03020100U);
}

// Headers that are not there say so themselves, and not the compiler.
#if !__has_include(                                                                                     \
    "seal/util/common.h") ||                                                                            \
    !__has_include(                                                                                     \
        "seal/util/ntt.h") ||                                                                           \
        !__has_include("seal/util/rlwe.h") ||                                                           \
                       !__has_include("seal/util/galois.h") ||                                          \
                                      !__has_include("seal/util/uintarithsmallmod.h") ||                \
                                                     !__has_include("seal/util/polyarithsmallmod.h") || \
                                                                    !__has_include("seal/util/iterator.h")
#error "a header of seal/util that programs include is not there"
#endif

}  // namespace
