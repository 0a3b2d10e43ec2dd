// SPDX-License-Identifier: Apache-2.0
#include "halocline/memory/sim/device_json.hpp"

#include <algorithm>
#include <initializer_list>

#include "halocline/core/expects.hpp"
#include "halocline/core/json.hpp"

namespace halocline::memory::sim {
namespace {

constexpr unsigned schema_version = 1;

json::object operation_to_json(const operation_cost& cost) {
  return {{"launches", cost.launches},
          {"fixed_us", cost.fixed_us},
          {"factor", cost.factor},
          {"source", cost.source}};
}

const json::value& member(const json::object& from, std::string_view name, std::string_view where) {
  const json::value* const found = json::find(from, name);
  HALOCLINE_EXPECTS(found != nullptr, corrupt_data, where, ": '", name, "' is missing");
  return *found;
}

void expect_members(const json::object& from, std::initializer_list<std::string_view> known,
                    std::string_view where) {
  for (const json::member& each : from) {
    HALOCLINE_EXPECTS(std::find(known.begin(), known.end(), each.first) != known.end(), corrupt_data, where,
                      ": '", each.first, "' is unknown");
  }
}

operation_cost operation_from_json(const json::value& from, const std::string& where) {
  const json::object& members = from.as_object(where);
  expect_members(members, {"launches", "fixed_us", "factor", "source"}, where);
  return {member(members, "launches", where).as_number(where + ", launches"),
          member(members, "fixed_us", where).as_number(where + ", fixed_us"),
          member(members, "factor", where).as_number(where + ", factor"),
          member(members, "source", where).as_string(where + ", source")};
}

void read_constants(const json::object& from, device_model& to) {
  for (const json::member& each : from) {
    const auto fields = device_fields();
    const auto field = std::find_if(fields.begin(), fields.end(),
                                    [&](const device_field& known) { return known.name == each.first; });
    HALOCLINE_EXPECTS(field != fields.end(), corrupt_data, "device model: constant '", each.first,
                      "' is unknown");
    const json::object& members = each.second.as_object(each.first);
    expect_members(members, {"value", "source"}, each.first);
    to.*field->member = member(members, "value", each.first).as_number(each.first);
    to.sources[each.first] = member(members, "source", each.first).as_string(each.first);
  }
  for (const device_field& each : device_fields()) {
    HALOCLINE_EXPECTS(to.sources.count(each.name) == 1, corrupt_data, "device model: constant '", each.name,
                      "' is missing");
  }
}

device_model read_model(const json::object& members) {
  device_model result;
  expect_members(members, {"schema", "name", "constants", "operations", "other_operation"}, "device model");
  const std::uint64_t schema =
      member(members, "schema", "device model").as_integer("schema", 0, json::limits{}.bytes);
  HALOCLINE_EXPECTS(schema == schema_version, corrupt_data, "device model: schema ", schema, ", expected ",
                    schema_version);
  result.name = member(members, "name", "device model").as_string("name");
  read_constants(member(members, "constants", "device model").as_object("constants"), result);
  for (const json::member& each : member(members, "operations", "device model").as_object("operations")) {
    result.operations.emplace(each.first, operation_from_json(each.second, "operation " + each.first));
  }
  result.other = operation_from_json(member(members, "other_operation", "device model"), "other_operation");
  return result;
}

}  // namespace

std::string device_to_json(const device_model& model) {
  validate(model);
  json::object constants;
  for (const device_field& each : device_fields()) {
    constants.emplace_back(
        std::string(each.name),
        json::object{{"value", model.*each.member}, {"source", model.sources.find(each.name)->second}});
  }
  json::object operations;
  for (const auto& [op, cost] : model.operations) operations.emplace_back(op, operation_to_json(cost));
  return json::write(json::object{{"schema", schema_version},
                                  {"name", model.name},
                                  {"constants", std::move(constants)},
                                  {"operations", std::move(operations)},
                                  {"other_operation", operation_to_json(model.other)}},
                     2);
}

device_model device_from_json(std::string_view source) {
  try {
    device_model result = read_model(json::parse(source).as_object("device model"));
    validate(result);
    return result;
  } catch (const invalid_argument& e) {
    throw corrupt_data(text("device model: ", e.what()));
  }
}

}  // namespace halocline::memory::sim
