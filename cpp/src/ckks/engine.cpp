// SPDX-License-Identifier: Apache-2.0
#include "halocline/ckks/engine.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "halocline/backend/registry.hpp"
#include "halocline/ckks/context.hpp"
#include "halocline/ckks/engine_keys.hpp"
#include "halocline/ckks/key_generator.hpp"
#include "halocline/ckks/key_plan.hpp"
#include "halocline/core/expects.hpp"

namespace halocline::ckks {
namespace {

[[nodiscard]] std::shared_ptr<context> make_engine_context(params::parameters parameters,
                                                           const engine_options& options) {
  backend::backend_options backend;
  backend.memory = options.memory;
  if (parameters.bootstrapping()) {
    // CoeffToSlot keeps a few dozen polynomials over all primes at a time; their pages should not fault anew.
    constexpr std::size_t polynomials = 64;
    backend.memory.cache_bytes = std::max(backend.memory.cache_bytes,
                                          polynomials * parameters.prime_count() * parameters.limb_bytes());
  }
  backend.threads = options.threads;
  backend.scalar = options.scalar;
  return make_context(std::move(parameters), backend::make_backend(options.device, backend));
}

/// A key of zeros: operations with it take as long as with any other.
[[nodiscard]] evaluation_key zero_key(context& ctx, const key_request& like) {
  evaluation_key made;
  made.home = ctx.ring().home();
  made.galois_element = like.galois_element;
  made.level = like.level;
  for (const key_digit_layout& layout : key_layout(ctx.parameters(), like)) {
    evaluation_key_digit& digit = made.digits.emplace_back();
    for (memory::buffer* const half : {&digit.b, &digit.a}) {
      *half = ctx.runtime().allocate(layout.limbs() * ctx.tables().limb_bytes(),
                                     memory::object_class::evaluation_key, "engine.calibration");
      const std::vector<backend::limb_view> views = layout.views(*half);
      ctx.device().set_zero(ctx.tables(), views);
    }
  }
  return made;
}

/// Fills a polynomial from a seed, as a half of a key: a plan compares that with loading it. Any seed will
/// do.
void expand(context& ctx, const ring::poly& into) {
  const backend::uniform_job job{into.chain(), {}};
  ctx.device().sample_uniform(ctx.tables(), {&job, 1});
}

}  // namespace

engine::engine(params::parameters parameters, const engine_options& options)
    : options_(options), ctx_(make_engine_context(std::move(parameters), options)) {
  if (ctx_->runtime().is_ghost()) {
    auto recorded = std::make_unique<recording_key_set>(*ctx_);
    recorded_ = recorded.get();
    keys_ = std::move(recorded);
  } else {
    auto stored = std::make_unique<engine_keys>(*ctx_, options_.keep_seeds);
    stored_ = stored.get();
    keys_ = std::move(stored);
  }
  evaluator_ = std::make_unique<ckks::evaluator>(*ctx_, *keys_);
}

engine::~engine() = default;

const params::parameters& engine::parameters() const noexcept { return ctx_->parameters(); }

memory::stats engine::statistics() const { return ctx_->runtime().statistics(); }

void engine::start_trace() { ctx_->runtime().start_trace(); }

memory::trace engine::stop_trace() { return ctx_->runtime().stop_trace(); }

memory::plan::planner_options engine::planning(std::uint64_t capacity_bytes) {
  return ctx_->runtime().planning(capacity_bytes);
}

void engine::begin_plan(std::shared_ptr<const memory::plan::plan> source) {
  ctx_->runtime().begin_plan(std::move(source));
}

memory::plan_outcome engine::end_plan() { return ctx_->runtime().end_plan(); }

void engine::set_budget(std::size_t bytes) { ctx_->runtime().set_budget(bytes); }

void engine::cancel() noexcept { ctx_->runtime().cancel(); }

void engine::bind_key(const key_id& id) { id_ = common_key(id_, id, "engine", "it", "the key set"); }

void engine::add_key(const evaluation_key& key) {
  bind_key(key.id);
  if (is_ghost()) return;
  stored_->add(transfer(key, *ctx_));
}

void engine::keep_seeds_of(std::set<std::uint64_t> elements) {
  seeded_ = elements;
  if (!is_ghost()) stored_->keep_seeds_of(std::move(elements));
}

void engine::keep_more_seeds(const std::set<std::uint64_t>& elements) {
  seeded_.insert(elements.begin(), elements.end());
  if (is_ghost()) {
    for (const std::uint64_t element : elements) recorded_->keep_seeded(element);
  } else {
    stored_->keep_more_seeds(elements);
  }
}

void engine::add_source(std::unique_ptr<key_source> source) {
  bind_key(source->id());
  if (!is_ghost()) stored_->add_source(std::move(source));
}

void engine::load_key(std::uint64_t galois_element) {
  if (!is_ghost()) stored_->load(galois_element);
}

void engine::bind_stored_key(std::uint64_t galois_element) {
  if (!is_ghost()) stored_->bind(galois_element);
}

bool engine::binds_keys() const noexcept { return !is_ghost() && ctx_->runtime().reads_remote(); }

void engine::evict_keys(bool copies) {
  if (!is_ghost()) stored_->evict(copies);
}

std::size_t engine::key_bytes() const noexcept { return is_ghost() ? 0 : stored_->held().bytes(); }

std::unique_ptr<engine_keys> engine::make_keys() const {
  HALOCLINE_EXPECTS(!is_ghost(), invalid_argument, "make_keys: a ghost engine has every key as a shape");
  return stored_->make_empty();
}

void engine::exchange_keys(engine_keys& other) {
  HALOCLINE_EXPECTS(!is_ghost(), invalid_argument, "exchange_keys: a ghost engine has every key as a shape");
  stored_->exchange(other);
  std::swap(id_, other.id());
}

std::vector<key_request> engine::held_keys() const {
  return is_ghost() ? std::vector<key_request>{} : stored_->held().list();
}

void engine::add_keys(const memory_key_set& keys) {
  bind_key(keys.id());
  for (const auto& [element, key] : keys.keys()) add_key(key);
}

ciphertext engine::load(const ciphertext& source) {
  (void)check(source, "load");
  (void)common_key(source.key, id_, "load", "the ciphertext", "the engine");
  return transfer(source, *ctx_);
}

ciphertext engine::ghost_input(unsigned level, double scale, std::uint32_t slots) {
  HALOCLINE_EXPECTS(
      is_ghost(), invalid_argument, "ghost_input: this engine computes on '", options_.device,
      "', where a ciphertext needs contents; encrypt one, or use an engine on the ghost device");
  HALOCLINE_EXPECTS(std::has_single_bit(slots) && slots <= parameters().slots(), invalid_argument,
                    "ghost_input: ", slots, " slots; expected a power of two up to ", parameters().slots());
  const arith::window primes = parameters().level(level).q;
  ciphertext shape;
  shape.level = level;
  shape.scale = scale;
  shape.slots = slots;
  for (int i = 0; i < 2; ++i) {
    shape.parts.push_back(
        ring::make_poly(ctx_->ring(), primes, memory::object_class::ciphertext, "ciphertext"));
  }
  return shape;
}

void engine::calibrate() {
  if (calibrated_ || !ctx_->runtime().moves()) return;
  try {
    measure_costs();
  } catch (const out_of_memory&) {
    // A key of the highest level can need more than the programs at hand. Plans then use the costs that are
    // assumed, and the planner says what a program needs.
  }
}

void engine::measure_costs() {
  constexpr int repetitions = 3;  // the first one loads the key and builds tables, and is discarded
  const params::parameters& p = parameters();
  // Not those that sources have: measuring shall load nothing.
  for (const key_request& key : is_ghost() ? keys_->list() : stored_->held().list()) {
    if (key.level == 0 || key.galois_element == encapsulation_element) continue;
    ciphertext zero;
    zero.level = key.level;
    zero.scale = p.level(key.level).scale;
    zero.slots = p.slots();
    for (int i = 0; i < 2; ++i) {
      zero.parts.push_back(ring::make_poly(ctx_->ring(), p.level(key.level).q,
                                           memory::object_class::ciphertext, "engine.calibration"));
      const backend::limb_view limbs = zero.parts.back().chain();
      ctx_->device().set_zero(ctx_->tables(), {&limbs, 1});
    }
    const std::optional<std::int64_t> step = rotation_of(p, key.galois_element);
    // Nothing is read from afar for a measurement.
    memory_key_set stand_ins(p);
    const bool is_remote = stored_->is_bound(key.galois_element);
    if (is_remote) stand_ins.add(zero_key(*ctx_, key));
    ckks::evaluator substitute(*ctx_, stand_ins);
    ckks::evaluator& on = is_remote ? substitute : *evaluator_;
    for (int i = 0; i < repetitions; ++i) {
      if (i == 1) ctx_->runtime().forget_costs();
      expand(*ctx_, zero.parts.front());
      if (key.galois_element == relinearization_element) {
        (void)on.square(zero);
      } else if (step) {
        const ciphertext turned = on.rotate(zero, *step);
        (void)on.sub(zero, on.add(zero, turned));
      }
    }
    if (step && key.galois_element != relinearization_element) {
      calibrated_ = true;
      (void)ctx_->runtime().measured_costs();  // probes the slow tier
      return;
    }
  }
}

void engine::prepare_keys(std::span<const key_request> requests) {
  HALOCLINE_EXPECTS(
      is_ghost(), invalid_argument,
      "prepare keys: only an engine on the ghost device has keys without contents; use add_keys");
  for (const key_request& request : requests) {
    recorded_->prepare(request, options_.keep_seeds || seeded_.contains(request.galois_element));
  }
}

std::vector<key_request> engine::needed_keys() const {
  HALOCLINE_EXPECTS(is_ghost(), invalid_argument,
                    "needed keys: only an engine on the ghost device records which keys a program uses");
  return recorded_->requests();
}

std::vector<key_request> engine::needed_keys_in_order() const {
  HALOCLINE_EXPECTS(is_ghost(), invalid_argument,
                    "needed keys: only an engine on the ghost device records which keys a program uses");
  return recorded_->in_order();
}

std::map<std::uint64_t, key_use> engine::take_key_uses() {
  HALOCLINE_EXPECTS(is_ghost(), invalid_argument,
                    "key uses: only an engine on the ghost device records which keys a program uses");
  std::map<std::uint64_t, key_use> uses;
  for (const auto& [element, count] : recorded_->uses()) uses[element].switches = count;
  for (const auto& [element, count] : evaluator_->lone_rotations()) uses[element].rotations = count;
  recorded_->reset_uses();
  evaluator_->reset_lone_rotations();
  return uses;
}

}  // namespace halocline::ckks
