// SPDX-License-Identifier: Apache-2.0
// Runtimes in forked children: what works, what is refused, and what the parent keeps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "halocline/core/error.hpp"
#include "halocline/memory/runtime.hpp"
#include "halocline/memory/tier/file_store.hpp"
#include "memory/tier/tier_file.hpp"
#include "support/fake_card.hpp"
#include "support/forked.hpp"
#include "support/message_of.hpp"
#include "support/page_frame.hpp"

namespace halocline::memory {
namespace {

using test::exit_code_of_child;
using test::message_of;
using ::testing::HasSubstr;

constexpr std::size_t size = std::size_t{1} << 20;

void write(runtime& memory, const buffer& data, int value) {
  const operand all{&data, 0, data.size()};
  const access at = memory.acquire({}, {&all, 1}, "write");
  std::memset(at.pointer(data), value, data.size());
}

bool holds(runtime& memory, const buffer& data, int value) {
  const operand all{&data, 0, data.size()};
  const access at = memory.acquire({&all, 1}, {}, "read");
  const std::byte* const bytes = at.pointer(data);
  return std::all_of(bytes, bytes + data.size(), [value](std::byte b) { return b == std::byte(value); });
}

runtime_options under(const char* policy, std::size_t budget = 0) {
  runtime_options options;
  options.policy = policy;
  options.budget_bytes = budget;
  return options;
}

TEST(RuntimeFork, HostMemoryWorksInAChild) {
  const auto memory = runtime::create(under("resident", 8 * size));
  const buffer kept = memory->allocate(size, object_class::ciphertext, "kept");
  write(*memory, kept, 3);
  const int code = exit_code_of_child([&] {
    if (!holds(*memory, kept, 3)) return 1;
    write(*memory, kept, 4);
    const buffer own = memory->allocate(2 * size, object_class::ciphertext, "own");
    write(*memory, own, 5);
    return holds(*memory, own, 5) && holds(*memory, kept, 4) ? 0 : 2;
  });
  EXPECT_EQ(code, 0);
  EXPECT_TRUE(holds(*memory, kept, 3));
}

TEST(RuntimeFork, HostMemoryWorksInChildrenForkedWhileThreadsUseIt) {
  const auto memory = runtime::create({});
  std::atomic<bool> stop = false;
  std::thread user([&] {
    while (!stop) {
      const buffer mine = memory->allocate(size, object_class::scratch, "user");
      write(*memory, mine, 1);
    }
  });
  for (int round = 0; round < 10; ++round) {
    EXPECT_EQ(exit_code_of_child([&] {
                const buffer own = memory->allocate(size, object_class::ciphertext, "own");
                write(*memory, own, 2);
                return holds(*memory, own, 2) ? 0 : 1;
              }),
              0);
  }
  stop = true;
  user.join();
}

/// Contents of half the buffers are in the file when the child is born.
class RuntimeThatMoves : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    for (int i = 0; i < 8; ++i) {
      buffers.push_back(memory->allocate(size, object_class::ciphertext, "moving"));
      write(*memory, buffers.back(), i);
    }
  }
  [[nodiscard]] bool all_right() {
    for (int i = 0; i < 8; ++i) {
      if (!holds(*memory, buffers[static_cast<std::size_t>(i)], i)) return false;
    }
    return true;
  }

  std::shared_ptr<runtime> memory = runtime::create(under(GetParam(), 4 * size));
  std::vector<buffer> buffers;
};

TEST_P(RuntimeThatMoves, IsRefusedInAChild) {
  const int code = exit_code_of_child([&] {
    const auto refused = [](const auto& action) {
      return message_of<device_error>(action).find("forked") != std::string::npos;
    };
    if (!refused([&] { (void)holds(*memory, buffers[0], 0); })) return 1;
    if (!refused([&] { (void)holds(*memory, buffers[7], 7); })) return 2;
    if (!refused([&] { (void)memory->allocate(size, object_class::ciphertext, "new"); })) return 3;
    if (!refused([&] { memory->set_budget(2 * size); })) return 4;
    if (!refused([&] { (void)memory->statistics(); })) return 5;
    if (!refused([&] { (void)memory->measured_costs(); })) return 6;
    return 0;
  });
  EXPECT_EQ(code, 0);
  EXPECT_TRUE(all_right());
}

TEST_P(RuntimeThatMoves, ParentKeepsItsBytesWhenAChildDestroysIt) {
  for (int round = 0; round < 3; ++round) {
    const int code = exit_code_of_child([&] {
      buffers.clear();
      memory.reset();
      // The descriptor's number may be taken by another file of the child.
      const auto own = runtime::create(under(GetParam(), 4 * size));
      std::vector<buffer> others;
      for (int i = 0; i < 8; ++i) {
        others.push_back(own->allocate(size, object_class::ciphertext, "own"));
        write(*own, others.back(), 100 + i);
      }
      return holds(*own, others[0], 100) && holds(*own, others[7], 107) ? 0 : 1;
    });
    EXPECT_EQ(code, 0);
    EXPECT_TRUE(all_right());
  }
}

TEST_P(RuntimeThatMoves, ForksWhileItMovesHarmNobody) {
  std::atomic<bool> stop = false;
  std::atomic<bool> right = true;
  std::thread user([&] {
    while (!stop) right = all_right() && right;
  });
  for (int round = 0; round < 5; ++round) {
    EXPECT_EQ(exit_code_of_child([&] {
                buffers.clear();
                memory.reset();
                return 0;
              }),
              0);
  }
  stop = true;
  user.join();
  EXPECT_TRUE(right);
}

INSTANTIATE_TEST_SUITE_P(Policies, RuntimeThatMoves, ::testing::Values("lru", "planned"));

TEST(RuntimeFork, SecretsOfAMovingRuntimeAreWipedInAChild) {
  const auto memory = runtime::create(under("lru", 4 * size));
  auto secret = std::make_unique<buffer>(memory->allocate(size, object_class::ciphertext, "secret", true));
  const std::byte* place = nullptr;
  {
    const operand all{secret.get(), 0, size};
    const access at = memory->acquire({}, {&all, 1}, "write");
    std::memset(at.pointer(*secret), 9, size);
    place = at.pointer(*secret);
  }
  const int code = exit_code_of_child([&] {
    secret.reset();
    return std::all_of(place, place + size, [](std::byte b) { return b == std::byte{0}; }) ? 0 : 1;
  });
  EXPECT_EQ(code, 0);
  EXPECT_TRUE(holds(*memory, *secret, 9));
}

TEST(RuntimeFork, AnAcceleratorIsRefusedInAChild) {
  for (const char* policy : {"resident", "lru", "managed"}) {
    runtime_options options = under(policy, 8 * size);
    options.device = std::make_shared<test::fake_card>(5, 50);
    auto memory = runtime::create(options);
    options.device.reset();
    std::vector<buffer> buffers;
    buffers.push_back(memory->allocate(size, object_class::ciphertext, "x"));
    buffers.push_back(memory->allocate(size, object_class::ciphertext, "secret", true));
    const operand all{buffers.data(), 0, size};
    (void)memory->acquire({}, {&all, 1}, "write");
    const int code = exit_code_of_child([&] {
      const std::string text = message_of<device_error>([&] {
        (void)memory->acquire({}, {&all, 1}, "write");
      });
      if (text.find("GPU") == std::string::npos || text.find("fork") == std::string::npos) return 1;
      buffers.clear();
      memory.reset();
      return 0;
    });
    EXPECT_EQ(code, 0) << policy;
    EXPECT_NO_THROW((void)memory->acquire({}, {&all, 1}, "write"));
  }
}

TEST(RuntimeFork, AbandonedRuntimesAreRefusedAndLeftAlone) {
  auto memory = runtime::create({});
  std::vector<buffer> buffers;
  buffers.push_back(memory->allocate(size, object_class::ciphertext, "x"));
  const int code = exit_code_of_child([&] {
    memory->abandon();
    const std::string text = message_of<device_error>([&] { write(*memory, buffers[0], 1); });
    buffers.clear();
    memory.reset();
    return text.find("another thread") == std::string::npos ? 1 : 0;
  });
  EXPECT_EQ(code, 0);
  write(*memory, buffers[0], 2);
  EXPECT_TRUE(holds(*memory, buffers[0], 2));
}

TEST(RuntimeFork, BudgetsOfAChildAreItsOwn) {
  const auto budget = std::make_shared<memory_budget>(4 * size);
  runtime_options options;
  options.shared_budget = budget;
  const auto memory = runtime::create(options);
  EXPECT_EQ(exit_code_of_child([&] {
              const buffer own = memory->allocate(3 * size, object_class::ciphertext, "own");
              return budget->used() == 3 * size ? 0 : 1;
            }),
            0);
  EXPECT_EQ(budget->used(), 0U);
}

class StoreFork : public ::testing::TestWithParam<io_engine> {};

/// A child that could make the shared file longer could also cut it off.
TEST_P(StoreFork, AChildNeitherReadsNorWritesNorGrowsTheFile) {
  if (GetParam() == io_engine::io_uring && !has_io_uring()) GTEST_SKIP() << "no io_uring here";
  file_store_options options;
  options.engine = GetParam();
  const auto place = make_file_store(options);
  const test::page_frame frame(size, 7);
  test::page_frame back(size);
  const slot_id slot = place->allocate(size);
  place->wait(place->write(slot, frame.data(), size));
  const transfer_id running = place->read(slot, back.data(), size);
  const int code = exit_code_of_child([&] {
    const auto refused = [](const auto& action) {
      return message_of<io_error>(action).find("forked") != std::string::npos;
    };
    if (!refused([&] { (void)place->allocate(size_t{64} << 20); })) return 1;
    if (!refused([&] { (void)place->read(slot, back.data(), size); })) return 2;
    if (!refused([&] { (void)place->write(slot, back.data(), size); })) return 3;
    if (!refused([&] { (void)place->poll(running); })) return 4;
    if (!refused([&] { place->wait(running); })) return 5;
    place->free(slot);
    return 0;
  });
  EXPECT_EQ(code, 0);
  place->wait(running);
  EXPECT_TRUE(back.holds(7));
}

INSTANTIATE_TEST_SUITE_P(Engines, StoreFork, ::testing::Values(io_engine::threads, io_engine::io_uring));

}  // namespace
}  // namespace halocline::memory
