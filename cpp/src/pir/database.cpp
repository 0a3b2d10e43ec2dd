// SPDX-License-Identifier: Apache-2.0
#include "halocline/pir/database.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "halocline/core/expects.hpp"
#include "halocline/memory/identity.hpp"
#include "halocline/memory/recipe.hpp"
#include "pir/column_groups.hpp"

namespace halocline::pir {
namespace {

/// Reads the records of a group again.
class group_recipe final : public memory::recipe {
 public:
  group_recipe(std::shared_ptr<const group_maker> maker, column_range of, storage kept, std::size_t bytes)
      : maker_(std::move(maker)), of_(of), kept_(kept), unit_(std::bit_ceil(bytes)) {}
  [[nodiscard]] memory::recovery kind() const noexcept override { return memory::recovery::encode; }
  /// All of a group at once: each part of a point matrix has parts of all rows.
  [[nodiscard]] std::size_t unit_bytes() const noexcept override { return unit_; }
  void regenerate(const memory::buffer& target, std::size_t) const override {
    maker_->fill(target, of_, kept_);
  }

 private:
  std::shared_ptr<const group_maker> maker_;
  column_range of_;
  storage kept_;
  std::size_t unit_;
};

/// Names a group in every process: the database, and which part of it.
std::uint64_t identity_of(const geometry& shape, const column_group& group, std::uint32_t step,
                          storage kept) {
  const fingerprint database = fingerprint_of(shape);
  std::uint64_t name = 0;
  std::memcpy(&name, database.data(), sizeof(name));
  return memory::identity_of(kept == storage::raw ? "database.raw" : "database.points", name, group.first,
                             std::uint64_t{step - 1} << 32 | group.columns);
}

void check_columns(const geometry& shape, database_options& options) {
  const std::uint32_t all = shape.at.columns;
  const std::uint32_t step = options.column_step;
  const std::uint32_t most =
      step == 0 || options.first_column >= all ? 0 : (all - options.first_column - 1) / step + 1;
  HALOCLINE_EXPECTS(most > 0 && options.columns <= most, invalid_argument, "database: ", options.columns,
                    " columns from number ", options.first_column, " on at steps of ", step,
                    "; the database has ", all);
  if (options.columns == 0) options.columns = most;
}

void check_records(const geometry& shape, const record_store* records, bool is_ghost) {
  if (is_ghost && records == nullptr) return;
  HALOCLINE_EXPECTS(records != nullptr, invalid_argument, "database: no records");
  const std::uint64_t expected = shape.records * shape.record_bytes;
  HALOCLINE_EXPECTS(records->bytes() == expected, invalid_argument, "database: a store of ", records->bytes(),
                    " bytes; expected ", expected, " for ", shape.records, " records of ", shape.record_bytes,
                    " bytes");
}

}  // namespace

// For each group the selectors of a query are read anew: on a core of a Zen 5, `row_select` of 1 GiB takes
// 0.47 s with groups of 64 MiB and 0.32 s with these. Under a budget other groups are on their way meanwhile.
std::size_t default_group_bytes(std::size_t budget, std::uint32_t point_block) noexcept {
  // Tiles of warpgroups have 64 columns of thousands of polynomials.
  const std::size_t unlimited = std::size_t{point_block == 1 ? 16U : 1U} * (std::size_t{256} << 20);
  return budget == 0 ? unlimited : std::min(unlimited, budget / 8);
}

database::database(context& ctx, std::shared_ptr<record_store> records, database_options options)
    : ctx_(ctx), records_(std::move(records)), options_(std::move(options)) {
  check_columns(ctx_.shape(), options_);
  if (options_.group_bytes == 0)
    options_.group_bytes = default_group_bytes(ctx_.runtime().budget_bytes(), ctx_.point_block());
  check_records(ctx_.shape(), records_.get(), ctx_.runtime().is_ghost());
  maker_ = std::make_shared<group_maker>(ctx_, records_, options_.lift_key);
  const std::size_t column = maker_->point_bytes(1);
  // Rows of a matrix are counted in 32 bits.
  const std::size_t most = std::numeric_limits<std::uint32_t>::max() / (column / ctx_.polynomial_bytes());
  HALOCLINE_EXPECTS(most > 0, invalid_argument, "database: a column of ", ctx_.shape().at.rows, " rows and ",
                    ctx_.shape().planes(), " planes; expected less than 2^32 plaintexts");
  // Parts of a batch are powers of two of columns, and whole groups.
  const std::size_t width = std::bit_floor(std::clamp<std::size_t>(options_.group_bytes / column, 1, most));
  for (std::uint32_t done = 0; done < options_.columns;) {
    const auto columns = static_cast<std::uint32_t>(std::min<std::size_t>(width, options_.columns - done));
    groups_.push_back(make_group(options_.first_column + done * options_.column_step, columns));
    done += columns;
    if (options_.progress) options_.progress(done, options_.columns);
  }
  stale_.resize(groups_.size());
}

column_group database::make_group(std::uint32_t first, std::uint32_t columns) const {
  const bool is_raw = options_.kept == storage::raw;
  const std::size_t bytes = is_raw ? maker_->raw_bytes(columns) : maker_->point_bytes(columns);
  const char* const tag = is_raw ? "database.raw" : "database.points";
  column_group made{first, columns, ctx_.runtime().allocate(bytes, memory::object_class::plaintext, tag)};
  ctx_.runtime().set_identity(made.data,
                              identity_of(ctx_.shape(), made, options_.column_step, options_.kept));
  const column_range of{first, columns, options_.column_step};
  maker_->fill(made.data, of, options_.kept);
  ctx_.runtime().set_recipe(made.data, std::make_shared<group_recipe>(maker_, of, options_.kept, bytes));
  return made;
}

backend::point_matrix database::points(const column_group& group, memory::buffer& scratch) {
  const auto number = static_cast<std::size_t>(&group - groups_.data());
  HALOCLINE_EXPECTS(number < groups_.size(), invalid_argument, "database: a group of another database");
  const column_range of{group.first, group.columns, options_.column_step};
  if (stale_[number]) {
    maker_->fill(group.data, of, options_.kept);
    stale_[number] = false;
  }
  const std::size_t bytes = maker_->point_bytes(group.columns);
  const auto rows = static_cast<std::uint32_t>(bytes / ctx_.polynomial_bytes());
  if (options_.kept == storage::transformed) return {&group.data, rows, ctx_.point_block()};
  if (scratch.size() < bytes) {
    scratch = {};
    scratch = ctx_.runtime().allocate(bytes, memory::object_class::scratch, "database.points");
  }
  maker_->transform_raw(scratch, group.data, of);
  return {&scratch, rows, ctx_.point_block()};
}

std::size_t database::find(std::uint64_t record) const {
  const std::uint64_t column = ctx_.shape().locate(record).plaintext / ctx_.shape().at.rows;
  const auto found = std::ranges::find_if(groups_, [this, column](const column_group& each) {
    return column >= each.first && (column - each.first) % options_.column_step == 0 &&
           (column - each.first) / options_.column_step < each.columns;
  });
  return static_cast<std::size_t>(found - groups_.begin());
}

std::size_t database::group_of(std::uint64_t record) const {
  const std::size_t number = find(record);
  HALOCLINE_EXPECTS(number != groups_.size(), invalid_argument, "replace record ", record,
                    ": it is in another shard than this one, which begins with column ",
                    options_.first_column);
  return number;
}

void database::replace(std::uint64_t record, std::span<const std::byte> bytes) {
  const geometry& shape = ctx_.shape();
  HALOCLINE_EXPECTS(bytes.size() == shape.record_bytes, invalid_argument, "replace record ", record, ": ",
                    bytes.size(), " bytes; records have ", shape.record_bytes);
  (void)group_of(record);
  if (records_ != nullptr) records_->write(record * shape.record_bytes, bytes);
  refresh(record);
}

void database::refresh(std::uint64_t record) {
  const geometry& shape = ctx_.shape();
  const std::size_t number = group_of(record);
  const std::uint64_t place = shape.locate(record).plaintext;
  maker_->draw_anew(place);
  if (stale_[number]) return;
  const column_group& group = groups_[number];
  stale_[number] = true;
  const std::uint64_t column = (place / shape.at.rows - group.first) / options_.column_step;
  const auto plaintext = static_cast<std::uint32_t>(column * shape.at.rows + place % shape.at.rows);
  maker_->refresh(group.data, {group.first, group.columns, options_.column_step}, options_.kept, plaintext);
  stale_[number] = false;
}

}  // namespace halocline::pir
