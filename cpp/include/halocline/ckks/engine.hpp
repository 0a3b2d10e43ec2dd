// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "halocline/ckks/evaluator.hpp"
#include "halocline/ckks/key_set.hpp"
#include "halocline/memory/plan/planner.hpp"
#include "halocline/memory/runtime_options.hpp"
#include "halocline/memory/stats.hpp"
#include "halocline/memory/trace.hpp"

namespace halocline::ckks {

class engine_keys;
class key_source;
class recording_key_set;

/// Where an engine computes and with how much memory.
struct engine_options {
  std::string device = "cpu";        ///< see `backend::available_devices`; "ghost" executes shapes only
  std::optional<unsigned> threads;   ///< worker threads of the CPU; the number of processors unless given
  bool scalar = false;               ///< the scalar specification instead of SIMD kernels
  bool keep_seeds = false;           ///< keep seeded keys seeded: half the bytes, expanded at each use
  memory::runtime_options memory{};  ///< budget, policy, slow tier
};

/// The party that evaluates: a context on a device, a key set and an evaluator. Never has a secret key.
/// Results live in the engine's runtime. Not thread-safe, not copyable.
class engine {
 public:
  /// An engine without keys. On the ghost device every key is there, as a shape, and its use is recorded.
  /// @throws invalid_argument for an unknown device or policy; out_of_memory when the tables exceed the
  /// budget
  explicit engine(params::parameters parameters, const engine_options& options = {});
  ~engine();
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  /// Parameters of everything that it computes with, and the context in which results live.
  [[nodiscard]] const params::parameters& parameters() const noexcept;
  [[nodiscard]] ckks::context& context() const noexcept { return *ctx_; }
  [[nodiscard]] const std::shared_ptr<ckks::context>& context_handle() const noexcept { return ctx_; }
  [[nodiscard]] const engine_options& options() const noexcept { return options_; }
  /// Whether it executes shapes only.
  [[nodiscard]] bool is_ghost() const noexcept { return recorded_ != nullptr; }
  /// Its operations, and the keys that they use.
  [[nodiscard]] ckks::evaluator& evaluator() noexcept { return *evaluator_; }
  [[nodiscard]] key_set& keys() noexcept { return *keys_; }

  /// The secret key that its keys and ciphertexts belong to; unknown until `bind_key` or `add_key` sets it.
  [[nodiscard]] const key_id& id() const noexcept { return id_; }
  /// Binds the engine to one secret key: keys and ciphertexts of others are refused from then on.
  /// @throws key_mismatch when it is bound to another one
  void bind_key(const key_id& id);

  /// Names keys, by Galois element, that are kept seeded from then on although the others are expanded: the
  /// least used ones, where not all expanded keys fit. Keys added before stay as they are.
  void keep_seeds_of(std::set<std::uint64_t> elements);
  /// Names further ones; those that the engine has are seeded from now on too, but for keys without seeds.
  void keep_more_seeds(const std::set<std::uint64_t>& elements);
  /// Copies a key into the engine, expanded unless its seeds are kept. A ghost engine takes its identifier
  /// only.
  /// @throws invalid_argument when the parameters differ; key_mismatch as `bind_key`; out_of_memory when the
  /// budget is exceeded
  void add_key(const evaluation_key& key);
  /// Copies all keys of a set, and binds the engine to the set's secret key even when the set is empty.
  void add_keys(const memory_key_set& keys);

  /// Binds the engine to the secret key of a source, and loads keys from it when operations first need them.
  /// An operation then throws what the source throws. A ghost engine has every key anyway.
  /// @throws key_mismatch as `bind_key`
  void add_source(std::unique_ptr<key_source> source);
  /// Loads a key from the sources now, unless it is there. Nothing on a ghost.
  /// @throws missing_key when no source has it; what the source throws; out_of_memory
  void load_key(std::uint64_t galois_element);
  /// The same without its contents, which come when a step or a plan needs them. Nothing on a ghost.
  /// @throws as `load_key`; invalid_argument unless `binds_keys`
  void bind_stored_key(std::uint64_t galois_element);
  /// Whether that works: under policies `lru` and `planned`.
  [[nodiscard]] bool binds_keys() const noexcept;
  /// Takes all keys out of the fast tier, and with `copies` those of sources out of the tiers between, so
  /// that the next program finds them cold. Nothing on a ghost, and where nothing moves.
  void evict_keys(bool copies);
  /// Bytes of the keys that it holds.
  [[nodiscard]] std::size_t key_bytes() const noexcept;
  /// The keys that it holds, without those that sources have and that no operation needed yet; none of a
  /// ghost.
  [[nodiscard]] std::vector<key_request> held_keys() const;

  /// An empty key set for another secret key, in this engine's memory, which `exchange_keys` puts to use. It
  /// keeps the seeds that the engine keeps now, and must not outlive the context.
  /// @throws invalid_argument on a ghost
  [[nodiscard]] std::unique_ptr<engine_keys> make_keys() const;
  /// Puts another key set to use, with its secret key, and aside the one in use. Plans find keys in use only,
  /// by the same names whichever the secret key is. Ciphertexts of other secret keys stay valid and are
  /// refused by operations.
  /// @throws invalid_argument on a ghost
  void exchange_keys(engine_keys& other);

  /// Copies a ciphertext into the engine from where it lives: a client, another engine, or the context that
  /// it was read into. No other thread may use that meanwhile; so with keys.
  /// @throws invalid_argument when the parameters differ or the ciphertext is malformed; key_mismatch when it
  ///   belongs to another secret key than the engine's keys
  [[nodiscard]] ciphertext load(const ciphertext& source);
  /// A ciphertext without contents.
  /// @throws invalid_argument unless this is a ghost, `level` exists and `slots` is a power of two up to N/2
  [[nodiscard]] ciphertext ghost_input(unsigned level, double scale, std::uint32_t slots);

  /// What its memory holds and has held.
  [[nodiscard]] memory::stats statistics() const;
  /// Records every step and allocation from now on; `stop_trace` gives what was recorded.
  void start_trace();
  [[nodiscard]] memory::trace stop_trace();
  /// For a plan of the next program: measured costs and what is in the fast tier now.
  /// @param capacity_bytes what the plan may use of the fast tier
  [[nodiscard]] memory::plan::planner_options planning(std::uint64_t capacity_bytes);
  /// Follows a plan, which was made of a trace of the same program, from this thread's next operation on.
  /// @throws invalid_argument unless the policy is `planned` and no plan is active; plan::exceeds_budget
  void begin_plan(std::shared_ptr<const memory::plan::plan> source);
  /// Ends following the plan. A program that did something else was finished under `lru`: see the outcome.
  memory::plan_outcome end_plan();
  /// Changes the budget. 0: unlimited.
  /// @throws out_of_memory when what is in use does not fit; the budget stays as it was
  void set_budget(std::size_t bytes);
  /// Makes the next step throw `cancelled`, once. May be called from any thread.
  void cancel() noexcept;

  /// Times a few operations on zeros, so that plans have measured costs before the first program has run.
  /// Some hundred milliseconds; only the first call after there is a rotation key does anything, and only
  /// where buffers move. Measures nothing where the budget has no room for it.
  void calibrate();

  /// Makes keys as shapes: see `recording_key_set::prepare`.
  /// @throws invalid_argument unless this is a ghost
  void prepare_keys(std::span<const key_request> requests);
  /// The keys that a ghost run requested, each with the highest level.
  /// @throws invalid_argument unless this is a ghost
  [[nodiscard]] std::vector<key_request> needed_keys() const;
  /// The same in the order of their first uses.
  [[nodiscard]] std::vector<key_request> needed_keys_in_order() const;
  /// How often the programs of a ghost used each key since the last call, without levels.
  /// @throws invalid_argument unless this is a ghost
  [[nodiscard]] std::map<std::uint64_t, key_use> take_key_uses();

 private:
  void measure_costs();

  engine_options options_;
  std::shared_ptr<ckks::context> ctx_;
  std::unique_ptr<key_set> keys_;
  engine_keys* stored_ = nullptr;          ///< keys_, unless a ghost
  recording_key_set* recorded_ = nullptr;  ///< keys_, when a ghost
  std::unique_ptr<ckks::evaluator> evaluator_;
  key_id id_;
  std::set<std::uint64_t> seeded_;  ///< of a ghost: elements of keys that stay seeded
  bool calibrated_ = false;
};

}  // namespace halocline::ckks
