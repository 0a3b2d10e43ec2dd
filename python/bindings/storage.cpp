// SPDX-License-Identifier: Apache-2.0
#include <tuple>

#include <nanobind/stl/tuple.h>

#include "bindings.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/engine_keys.hpp"
#include "halocline/core/expects.hpp"
#include "halocline/io/bundle_source.hpp"
#include "halocline/io/file_map.hpp"
#include "halocline/io/key_file.hpp"
#include "halocline/io/serialize.hpp"
#include "halocline/storage/key_store.hpp"
#include "halocline/storage/read_cache.hpp"

namespace halocline::python {
namespace {

using rows = std::vector<std::tuple<std::uint64_t, unsigned>>;

struct bound_store {
  std::shared_ptr<storage::key_store> value;
};

/// The keys of a user in a store: verified when they are read, by whichever engine.
struct bound_stored_keys {
  storage::manifest about;
  std::shared_ptr<const io::byte_source> source;
  std::shared_ptr<const storage::cached_object> cached{};  ///< the source, when it is read through a cache
};

struct bound_cache {
  std::shared_ptr<storage::read_cache> value;
};

/// Keys of one user in an engine that are in use at times.
struct bound_user_keys {
  std::shared_ptr<domain> where;
  owned<ckks::engine_keys> value;
};

bound_store open_store(const std::string& url, const storage::store_options& options, std::uint64_t quota) {
  const released meanwhile;
  return {std::make_shared<storage::key_store>(storage::open_store(url, options), options, quota)};
}

std::string put_keys(bound_store& self, const std::string& user, const bound_keys& keys) {
  return locked(*keys.where, [&] {
    const std::vector<std::byte> container = io::to_bytes(*keys.where->ctx, keys.value);
    return storage::to_string(self.value->put(user, container).root);
  });
}

std::string put_file(bound_store& self, const std::string& user, const std::string& path) {
  const released meanwhile;
  const io::file_map file{std::filesystem::path(path)};
  return storage::to_string(self.value->put(user, file.bytes()).root);
}

bound_stored_keys find(bound_store& self, const std::string& user, const std::optional<std::string>& digest,
                       const std::optional<std::string>& key) {
  const released meanwhile;
  storage::manifest found = self.value->find(user, digest, key);
  auto source = self.value->open(found);
  return {std::move(found), std::move(source)};
}

nb::dict counts(const bound_store& self) {
  const storage::store_counts now = self.value->objects().counts();
  nb::dict out;
  out["requests"] = now.requests;
  out["retries"] = now.retries;
  out["resumed"] = now.resumed;
  out["read_bytes"] = now.read_bytes;
  out["sent_bytes"] = now.sent_bytes;
  return out;
}

/// (Galois element, level) of every key, ascending.
rows list_keys(const bound_stored_keys& self, const params::parameters& p) {
  const std::shared_ptr<domain> where = shared_domain(p);
  return locked(*where, [&] {
    rows out;
    for (const ckks::key_request& each : io::key_bundle_reader(io::input(self.source), *where->ctx).list()) {
      out.emplace_back(each.galois_element, each.level);
    }
    return out;
  });
}

bound_keys load_all(const bound_stored_keys& self, const params::parameters& p) {
  const std::shared_ptr<domain> where = shared_domain(p);
  return locked(*where, [&] {
    return bound_keys{where, io::load_evaluation_keys(io::input(self.source), *where->ctx)};
  });
}

/// The requests of rows that may be missing.
std::optional<std::vector<ckks::key_request>> requests_of(const std::optional<rows>& wanted) {
  if (!wanted) return std::nullopt;
  std::vector<ckks::key_request> requests;
  for (const auto& [element, level] : *wanted) requests.push_back({element, level});
  return requests;
}

/// The same keys, read through a cache; their list is read now, so that it needs no lock of a context.
bound_stored_keys attach(bound_cache& self, const bound_stored_keys& keys) {
  const released meanwhile;
  const std::shared_ptr<storage::cached_object> cached = self.value->attach(keys.source);
  cached->prefetch(io::list_ranges(io::container_reader::from(cached)));
  return {keys.about, cached, cached};
}

nb::dict cache_counts(const bound_cache& self) {
  const storage::read_cache_counts now = self.value->counts();
  nb::dict out;
  out["held_bytes"] = now.held_bytes;
  out["fetched_bytes"] = now.fetched_bytes;
  out["given_bytes"] = now.given_bytes;
  out["evicted_bytes"] = now.evicted_bytes;
  return out;
}

const storage::cached_object& cache_of(const bound_stored_keys& self) {
  HALOCLINE_EXPECTS(self.cached != nullptr, invalid_argument, "these keys are not read through a cache");
  return *self.cached;
}

/// Reads keys into the cache, without an engine and its lock.
void fetch(const bound_stored_keys& self, const params::parameters& p, const rows& wanted) {
  const storage::cached_object& cached = cache_of(self);
  const released meanwhile(released::forks::go_on);  // locks of stores and caches are renewed in children
  const auto bundle = io::container_reader::from(self.cached);
  for (const auto& [element, level] : wanted) {
    const std::vector<io::byte_range> ranges = io::key_ranges(bundle, p, {element, level});
    cached.prefetch(ranges);
    cached.forget(ranges);
  }
}

/// Keys of a user beside those of the engine: loaded for the levels in `wanted`, and for higher ones where an
/// operation needs that.
/// @param direct reads past the cache: the engine has tiers behind its memory that keep the same bytes
bound_user_keys make_user_keys(bound_engine& self, const bound_stored_keys& keys,
                               const std::optional<rows>& wanted, bool direct) {
  return locked(*self.where, [&] {
    std::unique_ptr<ckks::engine_keys> made = self.value->make_keys();
    made->id() = keys.about.key;
    const io::input from(direct && keys.cached ? keys.cached->source() : keys.source);
    ckks::context& ctx = self.value->context();
    if (wanted) made->add_source(std::make_unique<io::bundle_source>(from, ctx, requests_of(wanted)));
    made->add_source(std::make_unique<io::bundle_source>(from, ctx));
    return bound_user_keys{self.where, own(self.where, std::move(made))};
  });
}

void exchange_keys(bound_engine& self, bound_user_keys& keys) {
  locked(*self.where, [&] { self.value->exchange_keys(*keys.value); });
}

void add_source(bound_engine& self, const bound_stored_keys& keys, const std::optional<rows>& wanted,
                bool in_turn) {
  const auto requests = requests_of(wanted);
  locked(*self.where, [&] {
    self.value->bind_key(keys.about.key);
    if (self.value->is_ghost()) return;
    self.value->add_source(std::make_unique<io::bundle_source>(io::input(keys.source), self.value->context(),
                                                               requests, in_turn));
  });
}

void bind_options(nb::module_& module) {
  using storage::store_options;
  nb::class_<store_options>(module, "StoreOptions")
      .def(nb::init<>())
      .def_rw("connections", &store_options::connections)
      .def_rw("deadline_seconds", &store_options::deadline_seconds)
      .def_rw("connect_seconds", &store_options::connect_seconds)
      .def_rw("stall_seconds", &store_options::stall_seconds)
      .def_rw("attempts", &store_options::attempts)
      .def_rw("endpoint", &store_options::endpoint)
      .def_rw("region", &store_options::region);
}

void bind_stored_keys(nb::module_& module) {
  nb::class_<bound_stored_keys>(module, "StoredKeys")
      .def_prop_ro("key_id", [](const bound_stored_keys& self) { return known(self.about.key); })
      .def_prop_ro("digest",
                   [](const bound_stored_keys& self) { return storage::to_string(self.about.root); })
      .def_prop_ro("nbytes", [](const bound_stored_keys& self) { return self.about.bytes; })
      .def(
          "params",
          [](const bound_stored_keys& self, bool allow_insecure) {
            const released meanwhile;
            return io::load_parameters(io::input(self.source), allow_insecure);
          },
          nb::arg("allow_insecure"))
      .def_prop_ro("cached_bytes", [](const bound_stored_keys& self) { return cache_of(self).held_bytes(); })
      .def("pin", [](const bound_stored_keys& self) { cache_of(self).pin(); })
      .def("unpin", [](const bound_stored_keys& self) { cache_of(self).unpin(); })
      .def("drop_cached", [](const bound_stored_keys& self) { cache_of(self).drop(); })
      .def("fetch", fetch, nb::arg("params"), nb::arg("wanted"))
      .def("list", list_keys, nb::arg("params"))
      .def("load", load_all, nb::arg("params"));
}

/// Members of engines that take keys of stores.
void bind_engine_sources(nb::module_& module) {
  nb::borrow<nb::class_<bound_engine>>(module.attr("Engine"))
      .def("add_source", add_source, nb::arg("keys"), nb::arg("wanted").none(), nb::arg("in_turn"))
      .def(
          "load_key",
          [](bound_engine& self, std::uint64_t element) {
            locked(*self.where, [&] { self.value->load_key(element); });
          },
          nb::arg("galois_element"))
      .def(
          "bind_stored_key",
          [](bound_engine& self, std::uint64_t element) {
            locked(*self.where, [&] { self.value->bind_stored_key(element); });
          },
          nb::arg("galois_element"))
      .def(
          "evict_keys",
          [](bound_engine& self, bool copies) {
            locked(*self.where, [&] { self.value->evict_keys(copies); });
          },
          nb::arg("copies"))
      .def_prop_ro("binds_keys", [](const bound_engine& self) { return self.value->binds_keys(); })
      .def_prop_ro("key_bytes", [](bound_engine& self) {
        return locked(*self.where, [&] { return self.value->key_bytes(); });
      });
}

void bind_user_keys(nb::module_& module) {
  nb::class_<bound_user_keys>(module, "UserKeys")
      .def(
          "load",
          [](bound_user_keys& self, std::uint64_t element) {
            locked(*self.where, [&] { self.value->load(element); });
          },
          nb::arg("galois_element"))
      .def(
          "bring",
          [](bound_user_keys& self, const std::vector<std::uint64_t>& elements) {
            return static_cast<int>(locked(*self.where, [&] { return self.value->bring(elements); }));
          },
          nb::arg("galois_elements"))
      .def("set_spare",
           [](bound_user_keys& self) { locked(*self.where, [&] { self.value->set_spare(true); }); })
      .def_prop_ro("nbytes", [](bound_user_keys& self) {
        return locked(*self.where, [&] { return self.value->held().bytes(); });
      });
  nb::borrow<nb::class_<bound_engine>>(module.attr("Engine"))
      .def("make_user_keys", make_user_keys, nb::arg("keys"), nb::arg("wanted").none(), nb::arg("direct"))
      .def("exchange_keys", exchange_keys, nb::arg("keys"));
}

void bind_cache(nb::module_& module) {
  nb::class_<bound_cache>(module, "ReadCache")
      .def_static(
          "make",
          [](std::uint64_t limit) { return bound_cache{std::make_shared<storage::read_cache>(limit)}; },
          nb::arg("limit_bytes"))
      .def_prop_ro("limit_bytes", [](const bound_cache& self) { return self.value->limit(); })
      .def("attach", attach, nb::arg("keys"))
      .def("counts", cache_counts);
}

}  // namespace

void bind_storage(nb::module_& module) {
  bind_options(module);
  bind_stored_keys(module);
  nb::class_<bound_store>(module, "KeyStore")
      .def_static("open", open_store, nb::arg("url"), nb::arg("options"), nb::arg("quota"))
      .def_prop_ro("url", [](const bound_store& self) { return self.value->objects().url(); })
      .def("put_keys", put_keys, nb::arg("user"), nb::arg("keys"))
      .def("put_file", put_file, nb::arg("user"), nb::arg("path"))
      .def("find", find, nb::arg("user"), nb::arg("digest").none(), nb::arg("key").none())
      .def(
          "check",
          [](bound_store& self, const std::string& user, const std::optional<std::string>& digest,
             const std::optional<std::string>& key) {
            const storage::manifest found = self.value->check(user, digest, key);
            return std::make_tuple(storage::to_string(found.root), found.bytes);
          },
          nb::arg("user"), nb::arg("digest").none(), nb::arg("key").none(), nb::call_guard<released>())
      .def(
          "clean", [](bound_store& self, const std::string& user) { return self.value->clean(user); },
          nb::arg("user"), nb::call_guard<released>())
      .def(
          "users", [](bound_store& self) { return self.value->users(); }, nb::call_guard<released>())
      .def(
          "nbytes", [](bound_store& self, const std::string& user) { return self.value->bytes(user); },
          nb::arg("user"), nb::call_guard<released>())
      .def(
          "remove", [](bound_store& self, const std::string& user) { return self.value->remove(user); },
          nb::arg("user"), nb::call_guard<released>())
      .def("counts", counts);
  bind_engine_sources(module);
  bind_cache(module);
  bind_user_keys(module);
}

}  // namespace halocline::python
