// SPDX-License-Identifier: Apache-2.0
#include "halocline/core/format.hpp"

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

#include "halocline/core/expects.hpp"

namespace halocline {

namespace {

std::string in_units(std::size_t bytes, double (*rounded)(double tenths)) {
  constexpr std::array<const char*, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024.0 && unit + 1 < units.size()) {
    value /= 1024.0;
    ++unit;
  }
  if (unit != 0) value = rounded(value * 10) / 10;
  std::array<char, 32> out{};
  std::snprintf(out.data(), out.size(), unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return out.data();
}

double unit_factor(std::string_view unit) {
  constexpr std::array<std::pair<std::string_view, double>, 14> units{{
      {"", 1.0},
      {"b", 1.0},
      {"k", 1024.0},
      {"kib", 1024.0},
      {"kb", 1e3},
      {"m", 1048576.0},
      {"mib", 1048576.0},
      {"mb", 1e6},
      {"g", 1073741824.0},
      {"gib", 1073741824.0},
      {"gb", 1e9},
      {"t", 1099511627776.0},
      {"tib", 1099511627776.0},
      {"tb", 1e12},
  }};
  for (const auto& [name, factor] : units) {
    if (name == unit) return factor;
  }
  return 0.0;
}

}  // namespace

std::string format_bytes(std::size_t bytes) {
  return in_units(bytes, [](double tenths) { return tenths; });
}

std::string format_bytes_up(std::size_t bytes) {
  return in_units(bytes, [](double tenths) { return std::ceil(tenths); });
}

std::size_t parse_bytes(std::string_view input) {
  std::string lower;
  for (const char c : input) {
    if (std::isspace(static_cast<unsigned char>(c)) == 0) {
      lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  double value = 0.0;
  const auto [end, status] = std::from_chars(lower.data(), lower.data() + lower.size(), value);
  const double factor = unit_factor(std::string_view(end, lower.data() + lower.size()));
  const double bytes = value * factor;
  HALOCLINE_EXPECTS(status == std::errc{} && std::isfinite(bytes) && bytes >= 1.0 && bytes < 9.2e18,
                    invalid_argument, "'", input,
                    "' is not a size; expected a positive number with an optional ",
                    "unit, such as 2GiB, 512MB or 4096");
  return static_cast<std::size_t>(bytes);
}

}  // namespace halocline
