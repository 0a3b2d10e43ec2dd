// SPDX-License-Identifier: Apache-2.0
#include "engines.hpp"

#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace seal::halocline_detail {
namespace {

namespace backend = halocline::backend;
namespace memory = halocline::memory;

/// Below it there are fewer words than vectors have lanes.
constexpr std::uint64_t least_vector_degree = 64;

/// Devices that were added.
struct added_devices {
  std::mutex mutex;
  std::map<std::string, device_factory> known;
};
added_devices& added() {
  static added_devices all;
  return all;
}
device_factory factory_of(const std::string& name) {
  added_devices& all = added();
  const std::scoped_lock lock(all.mutex);
  const auto found = all.known.find(name);
  return found == all.known.end() ? device_factory{} : found->second;
}

halocline::seal_format::parameters parameters_of(const SEALContext& of) {
  const EncryptionParameters& from = of.key_context_data()->parms();
  halocline::seal_format::parameters made;
  made.n = from.poly_modulus_degree();
  for (const Modulus& modulus : from.coeff_modulus()) made.primes.push_back(modulus.value());
  return made;
}

/// The queues of one thread, given back when it ends.
struct leases {
  struct lease {
    std::weak_ptr<engines> owner;
    const engines* name;
    std::string place;
    std::weak_ptr<queue> held;
  };
  std::vector<lease> all;

  leases() = default;
  leases(const leases&) = delete;
  leases& operator=(const leases&) = delete;
  ~leases() {
    for (const lease& each : all) {
      const std::shared_ptr<engines> owner = each.owner.lock();
      const std::shared_ptr<queue> held = each.held.lock();
      if (owner && held) owner->leave(held);
    }
  }
  [[nodiscard]] std::shared_ptr<queue> find(const engines* owner, const std::string& place) {
    for (const lease& each : all) {
      if (each.name == owner && each.place == place && !each.owner.expired()) {
        if (std::shared_ptr<queue> held = each.held.lock()) return held;
      }
    }
    return nullptr;
  }
  void add(lease made) {
    const auto gone = [](const lease& each) { return each.owner.expired(); };
    all.erase(std::remove_if(all.begin(), all.end(), gone), all.end());
    all.push_back(std::move(made));
  }
};
leases& mine_of_thread() {
  thread_local leases held;
  return held;
}

backend::backend_options options_for(const DeviceOptions& from) {
  backend::backend_options made;
  if (from.threads != 0) made.threads = from.threads;
  made.memory.budget_bytes = from.budget_bytes;
  made.memory.policy = from.policy;
  return made;
}

/// An upload of words, or digits of a key, that have the number that the object's sizes tell.
void check_count(std::size_t found, std::size_t expected, const char* what, const char* unit = "words") {
  if (found == expected && found != 0) return;
  throw std::invalid_argument(std::string(what) + ": it has " + std::to_string(found) + " " + unit +
                              "; its sizes need " + std::to_string(expected));
}

}  // namespace

void add_device(const std::string& name, device_factory make) {
  added_devices& all = added();
  const std::scoped_lock lock(all.mutex);
  all.known[name] = std::move(make);
}

void remove_device(const std::string& name) {
  added_devices& all = added();
  const std::scoped_lock lock(all.mutex);
  all.known.erase(name);
}

std::string checked_place(const std::string& device) {
  if (device == "cpu") return {};
  if (factory_of(device)) return device;
  const std::string name = device == "cuda" ? "cuda:0" : device;
  if (name.rfind("cuda:", 0) != 0) {
    throw std::invalid_argument("device \"" + device + "\"; expected \"cpu\", or \"cuda:0\" and the like");
  }
  const std::vector<std::string> known = backend::available_devices();
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    throw std::runtime_error(
        "device \"" + name +
        "\" is not there: this machine has no such GPU, or the library was built without "
        "CUDA. Give \"cpu\", also as HALOCLINE_SEAL_DEVICE where that is set, or no device");
  }
  return name;
}

engines::engines(const SEALContext& of) : parameters_(parameters_of(of)), encoder_(parameters_.n) {}

std::shared_ptr<engines> engines::of(const SEALContext& context) {
  const std::scoped_lock lock(context_access::engines_mutex(context));
  std::shared_ptr<engines>& slot = context_access::slot(context);
  if (!slot) slot = std::make_shared<engines>(context);
  return slot;
}

std::shared_ptr<queue> engines::mine(const std::string& place) {
  if (std::shared_ptr<queue> found = existing(place)) return found;
  backend::backend_options options;
  std::shared_ptr<queue> made;
  {
    const std::scoped_lock lock(mutex_);
    options = options_for(options_[place]);
    const auto idle = std::find_if(entries_.begin(), entries_.end(),
                                   [&](const entry& each) { return !each.used && each.place == place; });
    if (idle != entries_.end()) {
      idle->used = true;
      made = idle->held;
    }
  }
  if (!made) {
    options.scalar = place.empty() && parameters_.n < least_vector_degree;
    const device_factory factory = factory_of(place);
    made = std::make_shared<queue>(
        parameters_,
        factory ? factory(options) : backend::make_backend(place.empty() ? "cpu" : place, options));
    made->owner = weak_from_this();
    const std::scoped_lock lock(mutex_);
    entries_.push_back({place, made, true});
  }
  mine_of_thread().add({weak_from_this(), this, place, made});
  return made;
}

std::shared_ptr<queue> engines::existing(const std::string& place) {
  return mine_of_thread().find(this, place);
}

void engines::leave(const std::shared_ptr<queue>& used) {
  const std::scoped_lock lock(mutex_);
  for (entry& each : entries_) {
    if (each.held == used) each.used = false;
  }
}

void engines::set_options(const std::string& place, const DeviceOptions& options) {
  const std::vector<std::string> policies = memory::policy_names();
  if (std::find(policies.begin(), policies.end(), options.policy) == policies.end()) {
    throw std::invalid_argument("SetDeviceOptions: policy \"" + options.policy + "\" is unknown");
  }
  const std::scoped_lock lock(mutex_);
  const auto there = [&](const entry& each) { return each.place == place; };
  if (std::any_of(entries_.begin(), entries_.end(), there)) {
    throw std::logic_error("SetDeviceOptions: the context has used this device already; set options first");
  }
  options_[place] = options;
}

device_ciphertext on_queue(const std::shared_ptr<queue>& where, const Ciphertext& object) {
  device_copy& copies = ciphertext_access::device(object);
  if (device_copy::handle found = copies.find(where.get())) {
    return std::static_pointer_cast<const queue_words<core::ciphertext>>(found);
  }
  const DynArray<std::uint64_t>& words = object.dyn_array();
  const std::size_t expected = object.size() * object.poly_modulus_degree() * object.coeff_modulus_size();
  check_count(words.size(), expected, "ciphertext");
  device_ciphertext made;
  {
    const std::scoped_lock lock(where->mutex);
    core::ciphertext value{core::load_words(where->ctx, {words.cbegin(), words.size()},
                                            static_cast<std::uint32_t>(object.size()),
                                            static_cast<std::uint32_t>(object.coeff_modulus_size()),
                                            memory::object_class::ciphertext, "ciphertext"),
                           1.0};
    made = std::make_shared<queue_words<core::ciphertext>>(where, std::move(value));
  }
  copies.set_equal(made);
  return made;
}

device_plaintext on_queue(const std::shared_ptr<queue>& where, const Plaintext& object) {
  device_copy& copies = plaintext_access::device(object);
  if (device_copy::handle found = copies.find(where.get())) {
    return std::static_pointer_cast<const queue_words<core::plaintext>>(found);
  }
  const DynArray<std::uint64_t>& words = object.dyn_array();
  check_count(words.size(), object.coeff_count(), "plaintext");
  device_plaintext made;
  {
    const std::scoped_lock lock(where->mutex);
    const auto primes = static_cast<std::uint32_t>(words.size() / where->ctx.tables().n());
    core::plaintext value{core::load_words(where->ctx, {words.cbegin(), words.size()}, 1, primes,
                                           memory::object_class::plaintext, "plaintext"),
                          1.0};
    made = std::make_shared<queue_words<core::plaintext>>(where, std::move(value));
  }
  copies.set_equal(made);
  return made;
}

/// Keys by queue and element. Their memory is that of a queue, which they keep.
class queue_keys final : public device_keys {
 public:
  struct entry {
    const queue* where;
    std::uint32_t element;  ///< 0 for relinearization keys
    device_key_set keys;
  };

  std::mutex mutex;
  std::vector<entry> entries;
};

namespace {

std::shared_ptr<queue_keys> cache_of(const KSwitchKeys& keys) {
  const auto make = [] { return std::make_shared<queue_keys>(); };
  return std::static_pointer_cast<queue_keys>(keys_access::device(keys).get_or(make));
}

struct held_keys {
  std::shared_ptr<queue> where;
  core::switch_key_set set;
};

core::switch_key load_key(queue& where, const std::vector<PublicKey>& digits) {
  check_count(digits.size(), where.ctx.chain().data_primes(), "key", "digits");
  core::switch_key made;
  for (const PublicKey& digit : digits) {
    const DynArray<std::uint64_t>& words = digit.data().dyn_array();
    check_count(words.size(), 2 * where.ctx.chain().key_primes() * where.ctx.tables().n(), "key");
    const std::scoped_lock busy(where.mutex);
    made.push_back(core::load_digit(where.ctx, {words.cbegin(), words.size()}));
  }
  return made;
}

/// Keys that are there, or those that `load(set)` adds to an empty set. Those of contexts that are gone are
/// dropped, and with them the memory of their queues.
template <typename LoadT>
device_key_set cached(const std::shared_ptr<queue>& where, const KSwitchKeys& keys, std::uint32_t element,
                      LoadT load) {
  const std::shared_ptr<queue_keys> cache = cache_of(keys);
  const std::scoped_lock lock(cache->mutex);
  for (const queue_keys::entry& each : cache->entries) {
    if (each.where == where.get() && each.element == element) return each.keys;
  }
  const auto made = std::make_shared<held_keys>();
  made->where = where;
  load(made->set);
  const auto is_left = [](const queue_keys::entry& each) { return each.where->owner.expired(); };
  cache->entries.erase(std::remove_if(cache->entries.begin(), cache->entries.end(), is_left),
                       cache->entries.end());
  cache->entries.push_back({where.get(), element, {made, &made->set}});
  return cache->entries.back().keys;
}

}  // namespace

device_key_set keys_on_queue(const std::shared_ptr<queue>& where, const RelinKeys& keys) {
  return cached(where, keys, 0, [&](core::switch_key_set& to) {
    for (std::size_t i = 0; i < keys.data().size(); ++i) {
      if (!keys.data()[i].empty()) to.keys.emplace(i, load_key(*where, keys.data()[i]));
    }
  });
}

device_key_set keys_on_queue(const std::shared_ptr<queue>& where, const GaloisKeys& keys,
                             std::uint32_t element) {
  return cached(where, keys, element, [&](core::switch_key_set& to) {
    to.keys.emplace(element, load_key(*where, keys.key(element)));
  });
}

void check_pool(const MemoryPoolHandle& pool) {
  if (!pool) throw std::invalid_argument("pool is uninitialized");
}

void check_parameters(const SEALContext& context) {
  if (!context.parameters_set()) {
    throw std::invalid_argument(std::string("encryption parameters are not set correctly: ") +
                                context.parameter_error_message());
  }
  if (context.key_context_data()->parms().scheme() != scheme_type::ckks) {
    throw std::logic_error("unsupported scheme: BFV and BGV are not supported, only CKKS");
  }
}

randomness::randomness(const SEALContext& context) {
  const auto factory = context.key_context_data()->parms().random_generator();
  if (!factory) {
    source_ = std::make_unique<halocline::ring::random_source>();
    return;
  }
  halocline::backend::seed_bytes seed{};
  factory->create()->generate(sizeof seed, reinterpret_cast<seal_byte*>(seed.data()));
  source_ = std::make_unique<halocline::ring::random_source>(seed);
  sodium_memzero(seed.data(), sizeof seed);
}

void set_contents(const halocline::seal_format::ciphertext& from, const parms_id_type& parms_id,
                  const halocline::seal_format::seed* seed, Ciphertext& to) {
  DynArray<std::uint64_t>& words = ciphertext_access::words(to);
  ciphertext_access::device(to).drop();
  words.resize(from.data.size(), false);
  std::copy(from.data.begin(), from.data.end(), words.begin());
  ciphertext_access::set_shape(to, parms_id, from.size, from.n, from.primes, 1.0, true);
  if (seed == nullptr) return;
  prng_seed_type words_of_seed{};
  static_assert(sizeof words_of_seed == sizeof seed->bytes);
  std::memcpy(words_of_seed.data(), seed->bytes.data(), sizeof words_of_seed);
  ciphertext_access::set_seed(to, {static_cast<prng_type>(seed->kind), words_of_seed});
}

void set_zero_encryption(queue& on, halocline::ring::random_source& random,
                         std::span<const std::uint64_t> key, const parms_id_type& parms_id,
                         std::uint32_t primes, bool keep_seed, Ciphertext& to) {
  halocline::seal_format::seed seed;
  halocline::seal_format::ciphertext made;
  {
    const std::scoped_lock lock(on.mutex);
    made = core::client(on.ctx, random).encrypt_zero_symmetric(key, primes, seed);
  }
  set_contents(made, parms_id, keep_seed ? &seed : nullptr, to);
}

}  // namespace seal::halocline_detail

namespace seal {

void SetDeviceOptions(const SEALContext& context, const std::string& device, const DeviceOptions& options) {
  halocline_detail::check_parameters(context);
  halocline_detail::engines::of(context)->set_options(halocline_detail::checked_place(device), options);
}

DeviceMemory GetDeviceMemory(const SEALContext& context, const std::string& device) {
  halocline_detail::check_parameters(context);
  const std::shared_ptr<halocline_detail::queue> at =
      halocline_detail::engines::of(context)->existing(halocline_detail::checked_place(device));
  if (!at) return {};
  const halocline::memory::stats found = at->ctx.runtime().statistics();
  return {found.live_bytes, found.peak_bytes};
}

void WaitForDevice(const SEALContext& context, const std::string& device) {
  halocline_detail::check_parameters(context);
  const std::shared_ptr<halocline_detail::queue> at =
      halocline_detail::engines::of(context)->existing(halocline_detail::checked_place(device));
  if (!at) return;
  const std::scoped_lock lock(at->mutex);
  at->ctx.device().wait();
}

Ciphertext& Ciphertext::to(const std::string& device) {
  device_.set_place(halocline_detail::checked_place(device));
  return *this;
}
Ciphertext& Ciphertext::gpu() { return to("cuda:0"); }
bool Ciphertext::on_gpu() const noexcept { return !device_.place().empty(); }

KSwitchKeys& KSwitchKeys::to(const std::string& device) {
  place_ = halocline_detail::checked_place(device);
  return *this;
}
KSwitchKeys& KSwitchKeys::gpu() { return to("cuda:0"); }

Plaintext& Plaintext::to(const std::string& device) {
  device_.set_place(halocline_detail::checked_place(device));
  return *this;
}
Plaintext& Plaintext::gpu() { return to("cuda:0"); }
bool Plaintext::on_gpu() const noexcept { return !device_.place().empty(); }

}  // namespace seal
