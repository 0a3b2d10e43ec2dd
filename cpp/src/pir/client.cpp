// SPDX-License-Identifier: Apache-2.0
#include "halocline/pir/client.hpp"

#include <algorithm>
#include <utility>

#include "client_core.hpp"
#include "halocline/core/expects.hpp"
#include "message_frame.hpp"

namespace halocline::pir {

client::client(std::unique_ptr<state> made) noexcept : state_(std::move(made)) {}
client::client(client&&) noexcept = default;
client::~client() = default;

client::client(geometry of, std::shared_ptr<backend::backend> device, std::optional<arith::seed_bytes> seed)
    : state_(std::make_unique<state>(std::move(of), std::move(device), seed)) {
  state_->draw_secret();
}

client client::from_secret(geometry of, std::span<const std::byte> secret,
                           std::shared_ptr<backend::backend> device) {
  auto made = std::make_unique<state>(std::move(of), std::move(device), std::nullopt);
  read_secret(*made, secret);
  return client(std::move(made));
}

std::vector<std::byte> client::secret_bytes() const { return write_secret(*state_); }

const client_id& client::id() const noexcept { return state_->id; }

const geometry& client::shape() const noexcept { return state_->ctx.shape(); }

std::vector<std::byte> client::server_keys() {
  std::vector<std::byte> message = write_server_keys(shape(), make_server_keys(*state_));
  seal_keys(*state_, message);
  return message;
}

std::vector<std::byte> client::query(std::uint64_t record) {
  return write_query(shape(), make_query(*state_, shape().locate(record).plaintext));
}

std::vector<std::byte> client::decode(std::uint64_t record, std::span<const std::byte> query,
                                      std::span<const std::byte> answer) {
  const record_place place = shape().locate(record);
  const query_message asked = read_query(shape(), query);
  HALOCLINE_EXPECTS(asked.client == id(), key_mismatch, "retrieval query: it is of the client ",
                    to_string(asked.client), "; this is ", to_string(id()),
                    ". Decode with the client that made it");
  const answer_message got = read_answer(shape(), answer);
  HALOCLINE_EXPECTS(got.client == id(), key_mismatch, "retrieval answer: it is for the client ",
                    to_string(got.client), "; this is ", to_string(id()));
  HALOCLINE_EXPECTS(got.query == tag_of(query), key_mismatch,
                    "retrieval answer: it answers another query; give the query that was sent for it");
  HALOCLINE_EXPECTS(
      made_keys(*state_, got.keys), key_mismatch,
      "retrieval answer: it was computed with keys that this client, ", to_string(id()),
      ", did not make (their hash is ", hexadecimal(got.keys.hash),
      "); another party has sent keys under its name. Send server_keys() again, to replace them");
  const parameters& scheme = shape().scheme;
  wiped<std::byte> planes(shape().planes() * scheme.plaintext_bytes());
  decode_planes(*state_, got, planes.values);
  const auto first = planes.values.begin() + place.offset;
  return {first, first + static_cast<std::ptrdiff_t>(shape().record_bytes)};
}

}  // namespace halocline::pir
