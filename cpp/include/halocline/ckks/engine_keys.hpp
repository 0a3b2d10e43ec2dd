// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "halocline/ckks/key_set.hpp"
#include "halocline/ckks/key_source.hpp"
#include "halocline/memory/runtime.hpp"

namespace halocline::ckks {

class context;

/// The keys of an engine: those that it holds, and those that it loads from sources when `get` asks for them
/// first. Not thread-safe.
class engine_keys final : public key_set {
 public:
  /// @param ctx where the keys live; must outlive the set
  /// @param keep_seeds keeps all seeded keys seeded
  engine_keys(context& ctx, bool keep_seeds);

  /// Names keys, by Galois element, that are kept seeded from then on.
  void keep_seeds_of(std::set<std::uint64_t> elements) { seeded_ = std::move(elements); }
  /// Names further ones, and frees the uniform halves of those that are held.
  void keep_more_seeds(const std::set<std::uint64_t>& elements);
  /// Whether the key of that element is kept seeded.
  [[nodiscard]] bool keeps_seeds(std::uint64_t element) const {
    return keep_seeds_ || seeded_.contains(element);
  }
  /// Takes a key that lives in the context, expanded unless its seeds are kept.
  /// @throws as `memory_key_set::add`; out_of_memory
  void add(evaluation_key key);
  /// Loads keys of this source from now on, where no earlier source has them for the level that is needed.
  void add_source(std::unique_ptr<key_source> source);
  /// Loads a key now, unless it is held for the level that the first source has it for, or higher.
  /// @throws missing_key when no source has it; what the source throws
  void load(std::uint64_t galois_element);

  /// The same without contents, which the runtime brings when a step or a plan needs them: those of the
  /// source by remote reads, uniform halves that are not kept seeded from their seeds.
  /// @throws as `load`; invalid_argument where the runtime reads no remote contents
  void bind(std::uint64_t galois_element);
  /// Binds keys and brings them nearer in this order before they are used: see `memory::runtime::fetch`. What
  /// became of the part that is farthest away.
  /// @throws as `bind`
  [[nodiscard]] memory::fetched bring(std::span<const std::uint64_t> elements);
  /// Sets whether frames of all held keys go before others: see `memory::runtime::set_spare`.
  void set_spare(bool spare);
  /// Takes all held keys out of the fast tier: see `memory::runtime::leave_fast`.
  void evict(bool copies);
  /// Whether the contents of a held key are remote.
  [[nodiscard]] bool is_bound(std::uint64_t galois_element) const { return bound_.contains(galois_element); }

  [[nodiscard]] const evaluation_key& get(std::uint64_t galois_element, unsigned level) override;
  /// Whether it is held, or a source says that it has it.
  [[nodiscard]] bool contains(std::uint64_t galois_element, unsigned level) const override;
  /// What is held or could be loaded.
  [[nodiscard]] std::vector<key_request> list() const override;
  /// What is held.
  [[nodiscard]] const memory_key_set& held() const noexcept { return held_; }

  /// An empty set out of use that keeps the same seeds: for `engine::exchange_keys`.
  [[nodiscard]] std::unique_ptr<engine_keys> make_empty() const;
  /// Exchanges keys and sources with a set out of use. Only buffers of keys in use have identities, which are
  /// the same for all secret keys, so that one plan serves all of them.
  void exchange(engine_keys& other);
  /// Of a set out of use, the secret key that it is for; an engine keeps that of the keys in use itself.
  [[nodiscard]] key_id& id() noexcept { return id_; }

 private:
  struct offer {
    key_source* source;
    unsigned level;
  };
  /// Gives buffers of held keys their identities, or takes them away.
  void name_held(bool named);
  /// The first source that has the key for that level or higher, or nothing.
  [[nodiscard]] const offer* find(std::uint64_t galois_element, unsigned level) const;
  [[nodiscard]] const offer& offered(std::uint64_t galois_element) const;
  void load(std::uint64_t galois_element, const offer& from);

  context& ctx_;
  bool keep_seeds_;
  std::set<std::uint64_t> seeded_;  ///< elements of keys that stay seeded
  memory_key_set held_;
  std::vector<std::unique_ptr<key_source>> sources_;
  std::map<std::uint64_t, std::vector<offer>> offers_;
  std::set<std::uint64_t> bound_;  ///< elements of keys whose contents are remote
  bool in_use_ = true;
  key_id id_{};
};

}  // namespace halocline::ckks
