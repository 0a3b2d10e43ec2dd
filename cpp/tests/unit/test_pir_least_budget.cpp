// SPDX-License-Identifier: Apache-2.0
#include "halocline/pir/least_budget.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "halocline/core/error.hpp"
#include "support/pir_rig.hpp"

namespace halocline::pir {
namespace {

using test::pir_rig;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

geometry sixteen_rows() {
  const parameters scheme = test::set_named("pir-n2048");
  return make_geometry(scheme, 200, scheme.plaintext_bytes(), {.rows = 16});
}

/// Whether a server with that budget answers a query.
bool answers(storage kept, std::uint64_t bytes, const char* policy) {
  backend::backend_options options;
  options.threads = 1;
  options.memory.policy = policy;
  options.memory.budget_bytes = bytes;
  try {
    pir_rig rig(sixteen_rows(), backend::make_backend("cpu", options), {.database = {.kept = kept}});
    pir_rig::user user = rig.make_user(1);
    return std::ranges::equal(rig.fetch(user, 7), rig.record(7));
  } catch (const out_of_memory&) {
    return false;
  }
}

TEST(PirLeastBudget, IsEnoughAndNotMuchMore) {
  for (const storage kept : {storage::transformed, storage::raw}) {
    const least_budgets found = find_least_budgets(sixteen_rows(), kept);
    for (const auto& [policy, bytes] :
         {std::pair{"resident", found.resident_bytes}, std::pair{"lru", found.lru_bytes}}) {
      EXPECT_TRUE(answers(kept, bytes, policy)) << policy << ' ' << bytes;
      EXPECT_FALSE(falls_short(sixteen_rows(), kept, bytes, policy)) << policy;
      EXPECT_FALSE(answers(kept, bytes - bytes / 6, policy)) << policy << ' ' << bytes;
      EXPECT_TRUE(falls_short(sixteen_rows(), kept, bytes - bytes / 6, policy)) << policy;
    }
    EXPECT_FALSE(falls_short(sixteen_rows(), kept, found.lru_bytes, "planned"));
  }
}

TEST(PirLeastBudget, RefusesPoliciesThatItCannotForecast) {
  EXPECT_THAT([] { (void)falls_short(sixteen_rows(), storage::raw, 1 << 20, "managed"); },
              ThrowsMessage<invalid_argument>(HasSubstr("expected 'resident', 'lru' or 'planned'")));
  EXPECT_TRUE(falls_short(sixteen_rows(), storage::raw, 0, "lru"));
}

}  // namespace
}  // namespace halocline::pir
