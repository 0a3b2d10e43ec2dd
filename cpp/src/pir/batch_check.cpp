// SPDX-License-Identifier: Apache-2.0
#include "pir/batch_check.hpp"

namespace halocline::pir::detail {

void check_depth(const geometry& shape, const server_keys& keys) {
  const unsigned depth = shape.at.expansion_depth(shape.scheme);
  HALOCLINE_EXPECTS(keys.levels >= depth, invalid_argument, "keys for ", keys.levels,
                    " levels of expansion; this database needs ", depth,
                    ". Make them with a client of this database");
}

query_message read_query_of(const geometry& shape, const client_id& client,
                            std::span<const std::byte> bytes) {
  query_message made = read_query(shape, bytes);
  HALOCLINE_EXPECTS(made.client == client, key_mismatch, "it is of client ", to_string(made.client),
                    ", and the keys are of client ", to_string(client),
                    ". Give the keys of the client of each query");
  return made;
}

}  // namespace halocline::pir::detail
