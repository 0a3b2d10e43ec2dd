// SPDX-License-Identifier: Apache-2.0
#include "memory/pager/turn_list.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "memory/buffer_state.hpp"

namespace halocline::test {
namespace {

using memory::buffer_state;
using memory::turn_list;

struct turns {
  turns() {
    for (std::size_t i = 0; i < states.size(); ++i) at[i] = list.append(states[i]);
  }
  [[nodiscard]] std::size_t number_of(const buffer_state* state) const {
    return state == nullptr ? states.size() : static_cast<std::size_t>(state - states.data());
  }
  [[nodiscard]] std::vector<std::size_t> order() {
    std::vector<std::size_t> result;
    for (const buffer_state* each : list) result.push_back(number_of(each));
    return result;
  }
  [[nodiscard]] std::size_t next() { return number_of(list.next_unseen()); }

  std::array<buffer_state, 4> states;
  std::array<turn_list::position, 4> at;
  turn_list list;
};

TEST(TurnList, LooksAtEachBufferOnce) {
  turns t;
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(t.next(), i);
  EXPECT_EQ(t.next(), 4U);
  EXPECT_EQ(t.next(), 4U);
  t.list.look_again();
  EXPECT_EQ(t.next(), 0U);
}

TEST(TurnList, SeesWhatComesBehindTheOthersAgain) {
  turns t;
  for (std::size_t i = 0; i < 4; ++i) (void)t.next();
  t.list.to_end(t.at[1]);
  EXPECT_EQ(t.order(), (std::vector<std::size_t>{0, 2, 3, 1}));
  EXPECT_EQ(t.next(), 1U);
  EXPECT_EQ(t.next(), 4U);
  t.list.to_end(t.at[1]);  // it is the last one already
  EXPECT_EQ(t.next(), 1U);
  t.list.erase(t.at[2]);
  t.at[2] = t.list.append(t.states[2]);
  EXPECT_EQ(t.next(), 2U);
  EXPECT_EQ(t.next(), 4U);
}

TEST(TurnList, TheMarkMovesWhenItsBufferGoes) {
  turns t;
  EXPECT_EQ(t.next(), 0U);
  t.list.erase(t.at[1]);
  t.list.to_end(t.at[2]);
  EXPECT_EQ(t.next(), 3U);
  EXPECT_EQ(t.next(), 2U);
  t.list.erase(t.at[3]);
  t.list.erase(t.at[2]);
  EXPECT_EQ(t.next(), 4U);
  EXPECT_EQ(t.order(), (std::vector<std::size_t>{0}));
}

}  // namespace
}  // namespace halocline::test
