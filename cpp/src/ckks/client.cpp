// SPDX-License-Identifier: Apache-2.0
#include "halocline/ckks/client.hpp"

#include <map>
#include <utility>

#include "halocline/backend/registry.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/decryptor.hpp"
#include "halocline/ckks/encryptor.hpp"
#include "halocline/ckks/key_generator.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::ckks {
namespace {

[[nodiscard]] ring::random_source make_random(const std::optional<backend::seed_bytes>& seed) {
  return seed ? ring::random_source(*seed) : ring::random_source();
}

[[nodiscard]] unsigned checked_level(const params::parameters& parameters,
                                     const std::optional<unsigned>& level, const char* operation) {
  const unsigned highest = parameters.max_level();
  HALOCLINE_EXPECTS(!level || *level <= highest, invalid_argument, operation, ": level ", *level,
                    " does not exist; the highest level of these parameters is ", highest);
  return level.value_or(highest);
}

}  // namespace

std::vector<key_request> make_requests(const params::parameters& parameters, const key_selection& selection) {
  const unsigned level = selection.level.value_or(parameters.max_level());
  HALOCLINE_EXPECTS(level <= parameters.top_level(), invalid_argument, "evaluation keys: level ", level,
                    " does not exist; the highest level of these parameters is ", parameters.top_level());
  const auto slots = static_cast<std::int64_t>(parameters.slots());
  std::map<std::uint64_t, unsigned> levels;
  for (const std::int64_t step : selection.rotations) {
    HALOCLINE_EXPECTS(-slots < step && step < slots, invalid_argument, "evaluation keys: rotation by ", step,
                      " is out of range; expected a step between ", 1 - slots, " and ", slots - 1);
    if (step != 0) levels[parameters.galois_element(step)] = level;
  }
  if (selection.conjugation) levels[parameters.conjugation_element()] = level;
  if (selection.relinearization) levels[relinearization_element] = level;
  if (selection.encapsulation) {
    HALOCLINE_EXPECTS(
        parameters.encapsulation().has_value(), invalid_argument,
        "evaluation keys: the parameters have no ephemeral secret and no encapsulation key; take "
        "a preset for bootstrapping such as n16-boot");
    levels[encapsulation_element] = parameters.top_level();
  }
  std::vector<key_request> requests;
  for (const auto& [element, highest] : levels) requests.push_back({element, highest});
  return requests;
}

std::shared_ptr<context> make_client_context(params::parameters parameters, const client_options& options,
                                             ring::transform_tables transforms) {
  HALOCLINE_EXPECTS(
      options.device != "ghost", invalid_argument,
      "client: device 'ghost' holds no contents, so it can keep no secret key; expected 'cpu' or "
      "a GPU such as 'cuda:0'");
  backend::backend_options backend;
  backend.threads = options.threads;
  backend.memory = options.memory;
  return make_context(std::move(parameters), backend::make_backend(options.device, backend), transforms);
}

/// What it works with, all of one context and one source of randomness.
struct client::tools {
  tools(ckks::context& ctx, const client_options& options)
      : random(make_random(options.seed)),
        generator(ctx, random),
        encoder(ctx),
        encryptor(ctx, random),
        decryptor(ctx, random) {}

  ring::random_source random;
  key_generator generator;
  ckks::encoder encoder;
  ckks::encryptor encryptor;
  ckks::decryptor decryptor;
};

client::~client() = default;

const params::parameters& client::parameters() const noexcept { return ctx_->parameters(); }

ckks::encoder& client::encoder() noexcept { return tools_->encoder; }

std::shared_ptr<context> make_client_context(params::parameters parameters, const client_options& options) {
  return make_client_context(std::move(parameters), options, ring::transform_tables::now);
}

client::client(params::parameters parameters, const client_options& options)
    : client(make_client_context(std::move(parameters), options), ckks::secret_key{}, options) {
  secret_ = tools_->generator.make_secret_key();
}

client::client(std::shared_ptr<ckks::context> ctx, ckks::secret_key secret, const client_options& options)
    : ctx_(std::move(ctx)), tools_(std::make_unique<tools>(*ctx_, options)), secret_(std::move(secret)) {
  const memory::buffer& residues = secret_.value.data();
  HALOCLINE_EXPECTS(!residues || residues.owner() == &ctx_->runtime(), invalid_argument,
                    "client: the secret key lives in another context; read or make it in the client's own");
}

void client::assign_id() {
  HALOCLINE_EXPECTS(!secret_.id.is_known(), invalid_argument, "client: the secret key is ",
                    to_string(secret_.id), " already; an identifier is never changed");
  secret_.id = make_key_id(tools_->random, parameters());
  public_.reset();  // it has no identifier
}

ciphertext client::encrypt(std::span<const std::complex<double>> values, const encrypt_options& options) {
  const unsigned level = checked_level(parameters(), options.level, "encrypt");
  const double scale = options.scale.value_or(parameters().level(level).scale);
  return encrypt_plain(tools_->encoder.encode(values, level, scale, options.slots), options.use_public_key);
}

ciphertext client::encrypt_plain(const plaintext& message, bool use_public_key) {
  return use_public_key ? tools_->encryptor.encrypt(message, *public_key())
                        : tools_->encryptor.encrypt(message, secret_);
}

plaintext client::decrypt_plain(const ciphertext& source) {
  return tools_->decryptor.decrypt(source, secret_);
}

ciphertext client::receive(const ciphertext& source) {
  (void)check(source, "receive");
  (void)common_key(source.key, id(), "receive", "the ciphertext", "the client");
  return transfer(source, *ctx_);
}

std::vector<std::complex<double>> client::decrypt(const ciphertext& source, double flooding_bits) {
  check(*ctx_, source, "decrypt");
  return tools_->decryptor.decrypt_values(source, secret_, tools_->encoder, flooding_bits);
}

std::shared_ptr<const ckks::public_key> client::public_key() {
  if (!public_)
    public_ = std::make_shared<const ckks::public_key>(tools_->generator.make_public_key(secret_));
  return public_;
}

evaluation_key client::make_key(const key_request& request, bool seeded) {
  return tools_->generator.make_evaluation_key(secret_, request, seeded);
}

void client::make_keys(std::span<const key_request> requests, bool seeded, const key_sink& sink) {
  for (const key_request& request : requests) sink(make_key(request, seeded));
}

memory_key_set client::make_keys(std::span<const key_request> requests, ckks::context& home, bool seeded) {
  memory_key_set keys(parameters(), id());
  for (const key_request& request : requests) {
    const evaluation_key key = make_key(request, seeded);
    keys.add(transfer(key, home));
  }
  return keys;
}

memory_key_set client::make_keys(std::span<const key_request> requests, bool seeded) {
  memory_key_set keys(parameters(), id());
  make_keys(requests, seeded, [&](evaluation_key key) { keys.add(std::move(key)); });
  return keys;
}

memory_key_set client::make_keys(const key_selection& selection, bool seeded) {
  return make_keys(make_requests(parameters(), selection), seeded);
}

}  // namespace halocline::ckks
