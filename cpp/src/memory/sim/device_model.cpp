// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/sim/device_model.hpp"

#include <array>
#include <cmath>

#include "halocline/core/expects.hpp"

namespace halocline::memory::sim {
namespace {

constexpr double max_bytes = 1e15;
constexpr double max_rate = 1e15;
constexpr double max_us = 1e9;
/// Replays take a turn of the queue for each launch; those of our models need two at most.
constexpr double max_launches = 64;

constexpr std::array fields{
    device_field{"capacity_bytes", &device_model::capacity_bytes, 1 << 20, max_bytes},
    device_field{"reserved_bytes", &device_model::reserved_bytes, 0, max_bytes},
    device_field{"load_bytes_per_s", &device_model::load_bytes_per_s, 1e6, max_rate},
    device_field{"store_bytes_per_s", &device_model::store_bytes_per_s, 1e6, max_rate},
    device_field{"both_bytes_per_s", &device_model::both_bytes_per_s, 1e6, max_rate},
    device_field{"copy_us", &device_model::copy_us, 0, max_us},
    device_field{"launch_us", &device_model::launch_us, 0, max_us},
    device_field{"queue_depth", &device_model::queue_depth, 1, 1e6},
    device_field{"memory_bytes_per_s", &device_model::memory_bytes_per_s, 1e6, max_rate},
    device_field{"pool_allocate_us", &device_model::pool_allocate_us, 0, max_us},
    device_field{"pool_free_us", &device_model::pool_free_us, 0, max_us},
    device_field{"plain_allocate_us", &device_model::plain_allocate_us, 0, max_us},
    device_field{"plain_allocate_us_per_mib", &device_model::plain_allocate_us_per_mib, 0, max_us},
    device_field{"plain_free_us", &device_model::plain_free_us, 0, max_us},
    device_field{"managed_allocate_us", &device_model::managed_allocate_us, 0, max_us},
    device_field{"managed_free_us", &device_model::managed_free_us, 0, max_us},
    device_field{"block_bytes", &device_model::block_bytes, 4096, 1 << 30},
    device_field{"fault_page_bytes", &device_model::fault_page_bytes, 4096, 1 << 30},
    device_field{"fault_batch", &device_model::fault_batch, 1, 1e6},
    device_field{"fault_batch_us", &device_model::fault_batch_us, 0, max_us},
    device_field{"migrate_us_per_mib", &device_model::migrate_us_per_mib, 0, max_us},
    device_field{"populate_us_per_mib", &device_model::populate_us_per_mib, 0, max_us},
    device_field{"evict_us_per_mib", &device_model::evict_us_per_mib, 0, max_us},
    device_field{"prefetch_us_per_mib", &device_model::prefetch_us_per_mib, 0, max_us},
    device_field{"remote_bytes_per_s", &device_model::remote_bytes_per_s, 1e6, max_rate},
    device_field{"expand_bytes_per_s", &device_model::expand_bytes_per_s, 1e6, max_rate},
    device_field{"encode_bytes_per_s", &device_model::encode_bytes_per_s, 1e6, max_rate},
};

void validate_number(const std::string& model, std::string_view name, double value, double low, double high) {
  HALOCLINE_EXPECTS(value >= low && value <= high, invalid_argument, "device model '", model, "': ", name,
                    " is ", value, "; expected a number in [", low, ", ", high, "]");
}

void validate_operation(const std::string& model, std::string_view name, const operation_cost& cost) {
  const std::string where = "operation " + std::string(name);
  validate_number(model, where + ", launches", cost.launches, 0, max_launches);
  validate_number(model, where + ", fixed_us", cost.fixed_us, 0, max_us);
  validate_number(model, where + ", factor", cost.factor, 0, 1e6);
  HALOCLINE_EXPECTS(!cost.source.empty(), invalid_argument, "device model '", model, "': ", where,
                    " has no source; say how it was measured or that it is an estimate");
}

}  // namespace

const operation_cost& device_model::operation(std::string_view op) const {
  return plan::cost_of(operations, other, op);
}

double device_model::kernel_us(std::string_view op, double bytes) const {
  const operation_cost& cost = operation(op);
  return cost.fixed_us + cost.factor * bytes / memory_bytes_per_s * 1e6;
}

plan::cost_model device_model::costs(double scale) const {
  const auto linear = [&](const operation_cost& cost) {
    return plan::linear_cost{cost.fixed_us * 1e3 * scale, cost.factor / memory_bytes_per_s * 1e9 * scale};
  };
  plan::cost_model result;
  for (const auto& [op, cost] : operations) result.operations.emplace(op, linear(cost));
  result.other_operation = linear(other);
  result.load = {copy_us * 1e3, 1e9 / load_bytes_per_s};
  result.store = {copy_us * 1e3, 1e9 / store_bytes_per_s};
  result.expand = {other.fixed_us * 1e3 * scale, 1e9 / expand_bytes_per_s * scale};
  result.encode = {other.fixed_us * 1e3 * scale, 1e9 / encode_bytes_per_s * scale};
  return result;
}

std::span<const device_field> device_fields() noexcept { return fields; }

void validate(const device_model& model) {
  HALOCLINE_EXPECTS(!model.name.empty(), invalid_argument, "device model without a name");
  for (const device_field& each : fields) {
    validate_number(model.name, each.name, model.*each.member, each.low, each.high);
    const auto source = model.sources.find(each.name);
    HALOCLINE_EXPECTS(source != model.sources.end() && !source->second.empty(), invalid_argument,
                      "device model '", model.name, "': ", each.name,
                      " has no source; say how it was measured or that it is an estimate");
  }
  HALOCLINE_EXPECTS(model.usable_bytes() >= model.block_bytes, invalid_argument, "device model '", model.name,
                    "': the driver's ", model.reserved_bytes, " bytes leave nothing of the capacity of ",
                    model.capacity_bytes, " bytes");
  for (const auto& [op, cost] : model.operations) validate_operation(model.name, op, cost);
  validate_operation(model.name, "other", model.other);
}

}  // namespace halocline::memory::sim
