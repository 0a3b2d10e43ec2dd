// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstring>

#include "halocline/core/expects.hpp"
#include "message_frame.hpp"

namespace halocline::pir {

message_info inspect_message(std::span<const std::byte> bytes) {
  constexpr std::array kinds{keys_kind, query_kind, answer_kind, secret_kind};
  const std::string_view start(reinterpret_cast<const char*>(bytes.data()),
                               std::min(bytes.size(), keys_kind.magic.size()));
  const auto* const kind = std::ranges::find(kinds, start, &message_kind::magic);
  HALOCLINE_EXPECTS(kind != kinds.end(), corrupt_data,
                    "retrieval message: the bytes are none; expected keys, a query, an answer or a secret");
  fingerprint said{};
  constexpr std::size_t place = 16;  // behind letters, version and levels
  if (bytes.size() >= place + said.size()) std::memcpy(said.data(), bytes.data() + place, said.size());
  const open_frame in = read_frame(*kind, said, "message", bytes);
  return {std::string(kind->what), in.header.levels, in.header.of, in.header.client};
}

}  // namespace halocline::pir
