// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "seal/randomgen.h"
#include "seal/randomtostd.h"
#include "seal_objects.hpp"

namespace seal {
namespace {

constexpr prng_seed_type seed{1, 2, 3, 4, 5, 6, 7, 8};

std::vector<seal_byte> take(UniformRandomGenerator& from, std::size_t count) {
  std::vector<seal_byte> bytes(count);
  from.generate(count, bytes.data());
  return bytes;
}

TEST(SealRandom, IsTheSameStreamForASeed) {
  const std::shared_ptr<UniformRandomGeneratorFactory> all[] = {std::make_shared<Blake2xbPRNGFactory>(seed),
                                                                std::make_shared<Shake256PRNGFactory>(seed)};
  for (const auto& factory : all) {
    EXPECT_FALSE(factory->use_random_seed());
    EXPECT_EQ(factory->default_seed(), seed);
    const auto a = factory->create();
    const auto b = a->info().make_prng();
    std::vector<seal_byte> pieces;
    for (const std::size_t count : {1, 4095, 4, 8193}) {
      for (const seal_byte byte : take(*a, count)) pieces.push_back(byte);
    }
    EXPECT_EQ(take(*b, pieces.size()), pieces);
    EXPECT_NE(take(*factory->create({9}), pieces.size()), pieces);
    const auto c = factory->create();
    const std::vector<seal_byte> front = take(*c, 8);
    c->refresh();
    EXPECT_EQ(take(*c, 8), std::vector<seal_byte>(pieces.begin() + 4096, pieces.begin() + 4104));
    EXPECT_EQ(front, std::vector<seal_byte>(pieces.begin(), pieces.begin() + 8));
  }
  EXPECT_NE(take(*all[0]->create(), 64), take(*all[1]->create(), 64));
}

TEST(SealRandom, DiffersWithoutASeed) {
  const auto factory = UniformRandomGeneratorFactory::DefaultFactory();
  EXPECT_TRUE(factory->use_random_seed());
  std::set<std::vector<seal_byte>> seen;
  for (int i = 0; i < 8; ++i) seen.insert(take(*factory->create(), 16));
  EXPECT_EQ(seen.size(), 8U);
  EXPECT_NE(random_uint64(), random_uint64());
  EXPECT_EQ(factory->create()->info().type(), prng_type::blake2xb);
}

TEST(SealRandom, InfoIsSavedAndLoaded) {
  const UniformRandomGeneratorInfo info(prng_type::shake256, seed);
  const std::string file = test::saved(info);
  EXPECT_EQ(file.size(), 81U);
  UniformRandomGeneratorInfo loaded;
  EXPECT_TRUE(loaded.has_valid_prng_type());  // unknown, as generators of programs are
  EXPECT_EQ(loaded.make_prng(), nullptr);
  EXPECT_EQ(loaded.load(test::bytes_of(file), file.size()), 81);
  EXPECT_TRUE(loaded == info);
  std::string bad = file;
  bad[16] = 3;
  EXPECT_THROW(loaded.load(test::bytes_of(bad), bad.size()), std::logic_error);
  EXPECT_TRUE(loaded == info);
  const UniformRandomGeneratorInfo unknown(prng_type::unknown, seed);
  const std::string other = test::saved(unknown);
  EXPECT_EQ(loaded.load(test::bytes_of(other), other.size()), 81);
  EXPECT_TRUE(loaded == unknown);
}

TEST(SealRandom, FeedsDistributionsOfTheStandardLibrary) {
  RandomToStandardAdapter engine(Blake2xbPRNGFactory(seed).create());
  std::uniform_int_distribution<int> dice(1, 6);
  std::set<int> seen;
  for (int i = 0; i < 200; ++i) seen.insert(dice(engine));
  EXPECT_EQ(seen.size(), 6U);
  EXPECT_THROW(RandomToStandardAdapter(nullptr), std::invalid_argument);
}

TEST(SealMemory, CountsBytesByPool) {
  const MemoryPoolHandle pool = MemoryPoolHandle::New();
  const MemoryPoolHandle empty;
  EXPECT_FALSE(empty);
  EXPECT_EQ(MemoryPoolHandle().pool_count(), 0U);
  {
    const Plaintext plain(100, pool);
    EXPECT_EQ(pool.alloc_byte_count(), 800U);
    EXPECT_EQ(plain.pool(), pool);
  }
  EXPECT_EQ(pool.alloc_byte_count(), 0U);
  EXPECT_EQ(MemoryPoolHandle::Global(), MemoryPoolHandle::Global());
  EXPECT_NE(MemoryPoolHandle::New(), pool);
  EXPECT_EQ(MemoryManager::GetPool(), MemoryPoolHandle::Global());
  EXPECT_EQ(MemoryManager::GetPool(mm_prof_opt::mm_force_thread_local), MemoryPoolHandle::ThreadLocal());
  EXPECT_NE(MemoryManager::GetPool(mm_prof_opt::mm_force_new, true), MemoryManager::GetPool());
  EXPECT_THROW(static_cast<void>(MemoryPoolHandle().allocate(8)), std::invalid_argument);
  const MemoryPoolHandle same = pool;
  util::MemoryPool& itself = pool;
  EXPECT_EQ(&itself, &static_cast<util::MemoryPool&>(same));
  EXPECT_NE(&itself, &static_cast<util::MemoryPool&>(MemoryPoolHandle::New()));
  EXPECT_THROW(static_cast<void>(static_cast<util::MemoryPool&>(empty)), std::logic_error);
}

TEST(SealMemory, SwitchesProfiles) {
  const MemoryPoolHandle pool = MemoryPoolHandle::New();
  {
    MMProfGuard guard(std::make_unique<MMProfFixed>(pool));
    EXPECT_TRUE(guard.owns_lock());
    EXPECT_EQ(MemoryManager::GetPool(), pool);
    EXPECT_EQ(MemoryManager::GetPool(mm_prof_opt::mm_force_global), MemoryPoolHandle::Global());
    guard.unlock();
    EXPECT_NE(MemoryManager::GetPool(), pool);
    EXPECT_TRUE(guard.try_lock());
    EXPECT_FALSE(guard.try_lock());
    EXPECT_EQ(Plaintext(3).pool(), pool);
  }
  EXPECT_EQ(MemoryManager::GetPool(), MemoryPoolHandle::Global());
  EXPECT_THROW(MemoryManager::SwitchProfile(std::unique_ptr<MMProf>()), std::invalid_argument);
  EXPECT_THROW(MMProfFixed{MemoryPoolHandle()}, std::invalid_argument);
}

}  // namespace
}  // namespace seal
