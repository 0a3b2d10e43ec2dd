// SPDX-License-Identifier: Apache-2.0
// Sizes that no memory has, objects that several threads use, contexts that are moved or gone.
#include <algorithm>
#include <atomic>
#include <limits>
#include <thread>

#include "engines.hpp"
#include "seal_rig.hpp"

namespace seal::test {
namespace {

constexpr std::size_t most = std::numeric_limits<std::size_t>::max();

TEST(CompatLifetimes, SizesThatNoMemoryHasAreRefused) {
  Plaintext plain(3);
  DynArray<std::uint64_t> words(3);
  for (const std::size_t count : {most / 8, most / 8 - 1, most / 16 + 1, most}) {
    EXPECT_THROW(plain.reserve(count), std::bad_alloc) << count;
    EXPECT_THROW(plain.resize(count), std::bad_alloc) << count;
    EXPECT_THROW(words.reserve(count), std::bad_alloc) << count;
    EXPECT_THROW(words.resize(count), std::bad_alloc) << count;
    EXPECT_THROW(Plaintext(count, 10), std::bad_alloc) << count;
    EXPECT_THROW(DynArray<std::uint64_t>(count, 5), std::bad_alloc) << count;
    EXPECT_THROW(DynArray<std::uint64_t>{count}, std::bad_alloc) << count;
  }
  EXPECT_THROW(DynArray<char>(most - 10, 5), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(MemoryManager::GetPool().allocate(most - 10)), std::bad_alloc);
  EXPECT_LT(words.max_size(), most / 16);
  plain.resize(1000);
  words.resize(1000);
  EXPECT_EQ(plain.coeff_count(), 1000U);
  EXPECT_TRUE(plain.is_zero());
  EXPECT_EQ(words.size(), 1000U);
}

// For the thread sanitizer: `data()` drops the copy that the other thread computes with.
TEST(CompatLifetimes, KeysAreLookedAtWhileOthersComputeWithThem) {
  rig r;
  const slots a = r.values();
  const Ciphertext x = r.encrypt(a);
  GaloisKeys keys = r.galois();
  std::atomic<bool> done{false};
  std::size_t seen = 0, copied = 0;
  std::thread reader([&] {
    do {
      seen = std::max(seen, keys.data().size());
      const GaloisKeys copy = keys;
      copied = std::max(copied, copy.size());
    } while (!done);
  });
  Ciphertext y;
  for (int i = 0; i < 8; ++i) r.evaluator.rotate_vector(x, 1, keys, y);
  done = true;
  reader.join();
  EXPECT_LT(distance(r.decrypt(y), rotated(a, 1)), 1e-4);
  EXPECT_EQ(seen, std::as_const(keys).data().size());
  EXPECT_EQ(copied, keys.size());
}

TEST(CompatLifetimes, MovedContextsAreEmpty) {
  SEALContext a(ckks_parameters(64, {40, 40}), true, sec_level_type::none);
  SEALContext b(std::move(a));
  EXPECT_TRUE(b.parameters_set());
  const auto expect_empty = [](const SEALContext& context) {
    EXPECT_FALSE(context.parameters_set());
    EXPECT_STREQ(context.parameter_error_name(), "none");
    EXPECT_NE(std::string(context.parameter_error_message()), "valid");
    EXPECT_EQ(context.first_context_data(), nullptr);
    EXPECT_EQ(context.key_context_data(), nullptr);
    EXPECT_EQ(context.last_context_data(), nullptr);
    EXPECT_EQ(context.get_context_data(parms_id_zero), nullptr);
    EXPECT_EQ(context.key_parms_id(), parms_id_zero);
    EXPECT_EQ(context.first_parms_id(), parms_id_zero);
    EXPECT_EQ(context.last_parms_id(), parms_id_zero);
    EXPECT_FALSE(context.using_keyswitching());
    EXPECT_THROW(Evaluator{context}, std::invalid_argument);
    EXPECT_THROW(KeyGenerator{context}, std::invalid_argument);
    EXPECT_THROW(CKKSEncoder{context}, std::invalid_argument);
    EXPECT_THROW(Ciphertext{context}, std::invalid_argument);
    EXPECT_FALSE(is_valid_for(Ciphertext(), context));
    const SEALContext copy = context;
    EXPECT_FALSE(copy.parameters_set());
  };
  expect_empty(a);
  a = std::move(b);
  EXPECT_TRUE(a.parameters_set());
  expect_empty(b);
}

/// Counts the CPU's backends, one for each queue.
struct counted_queues {
  counted_queues() {
    halocline_detail::add_device("", [this](const halocline::backend::backend_options& options) {
      auto backend = halocline::backend::make_backend("cpu", options);
      made.push_back(backend);
      return backend;
    });
  }
  counted_queues(const counted_queues&) = delete;
  counted_queues& operator=(const counted_queues&) = delete;
  ~counted_queues() { halocline_detail::remove_device(""); }

  [[nodiscard]] std::ptrdiff_t alive() const {
    return std::count_if(made.begin(), made.end(), [](const auto& each) { return !each.expired(); });
  }
  std::vector<std::weak_ptr<halocline::backend::backend>> made;
};

TEST(CompatLifetimes, OperandsAndKeysDoNotKeepContextsThatAreGone) {
  counted_queues queues;
  rig r;
  const slots a = r.values();
  const Ciphertext x = r.encrypt(a);
  const Plaintext plain = r.encode(a);
  const GaloisKeys keys = r.galois();
  const std::ptrdiff_t before = queues.alive();
  for (int client = 0; client < 5; ++client) {
    const SEALContext context(r.context.key_context_data()->parms(), true, sec_level_type::none);
    const Evaluator evaluator(context);
    Ciphertext y;
    evaluator.multiply_plain(x, plain, y);
    evaluator.rotate_vector(x, 1, keys, y);
    evaluator.relinearize_inplace(y, r.relin);
    EXPECT_LE(queues.alive(), before + 1) << client;
  }
  EXPECT_EQ(queues.made.size(), static_cast<std::size_t>(before) + 5);
  Ciphertext y;
  r.evaluator.multiply_plain(x, plain, y);
  r.evaluator.rotate_vector(x, 1, keys, y);
  EXPECT_LE(queues.alive(), 1);
  EXPECT_LT(distance(r.decrypt(y), rotated(a, 1)), 1e-4);
}

TEST(CompatLifetimes, ResultsHaveRoomForThemselves) {
  rig r;
  Ciphertext y;
  r.evaluator.negate(r.encrypt(r.values()), y);
  EXPECT_EQ(y.size(), 2U);
  EXPECT_GE(y.size_capacity(), y.size());
}

}  // namespace
}  // namespace seal::test
