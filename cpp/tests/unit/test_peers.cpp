// SPDX-License-Identifier: Apache-2.0
#include "halocline/backend/peers.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "halocline/backend/registry.hpp"

namespace halocline {
namespace {

struct members {
  std::vector<std::shared_ptr<backend::backend>> devices{backend::make_backend("cpu"),
                                                         backend::make_backend("cpu")};
  std::unique_ptr<backend::peers> joined = backend::make_peers(devices);

  [[nodiscard]] memory::buffer make(std::size_t member, std::size_t bytes) const {
    return devices[member]->runtime().allocate(bytes, memory::object_class::scratch, "test");
  }
};

TEST(Peers, CopyRangesBetweenRuntimes) {
  const members of;
  EXPECT_EQ(of.joined->link(), "host");
  constexpr std::size_t bytes = (std::size_t{9} << 20) + 5;  // several pieces
  std::vector<std::byte> source(bytes), got(bytes);
  for (std::size_t i = 0; i < bytes; ++i) source[i] = static_cast<std::byte>(i * 131 >> 3);
  const memory::buffer a = of.make(0, bytes), b = of.make(1, bytes);
  of.devices[0]->upload(a, 0, source);
  of.devices[1]->upload(b, 0, got);
  const backend::peer_copy there{0, 1, &a, 3, &b, 7, bytes - 100};
  of.joined->begin({&there, 1});
  of.joined->finish();
  of.devices[1]->download(got, b, 0);
  for (std::size_t i = 0; i < bytes; ++i) {
    const bool copied = i >= 7 && i < 7 + bytes - 100;
    ASSERT_EQ(got[i], copied ? source[i - 4] : std::byte{0}) << i;
  }
}

TEST(Peers, RefuseMembersThatThereAreNot) {
  const members of;
  const memory::buffer a = of.make(0, 8), b = of.make(1, 8);
  for (const auto& [from, to] : {std::pair{0U, 0U}, std::pair{0U, 2U}, std::pair{5U, 1U}}) {
    const backend::peer_copy bad{from, to, &a, 0, &b, 0, 8};
    EXPECT_THROW(of.joined->begin({&bad, 1}), invalid_argument);
  }
  const backend::peer_copy foreign{0, 1, &b, 0, &a, 0, 8};
  EXPECT_THROW(of.joined->begin({&foreign, 1}), invalid_argument);
  const backend::peer_copy beyond{0, 1, &a, 4, &b, 0, 8};
  EXPECT_THROW(of.joined->begin({&beyond, 1}), invalid_argument);
  EXPECT_THROW((void)backend::make_peers({}), invalid_argument);
  EXPECT_THROW((void)backend::make_peers({of.devices[0], of.devices[0]}), invalid_argument);
}

}  // namespace
}  // namespace halocline
