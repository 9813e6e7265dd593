#pragma once
// A ledger, and what holds its retention back, as JSON: for `onceward retention --json` and the
// admin port's page. Pure.

#include <nlohmann/json_fwd.hpp>

#include "dedup/retention/ledger_view.h"

namespace onceward {

// `held_back_by` is empty: the caller adds the holders.
nlohmann::json to_json(const LedgerView& ledger);
nlohmann::json to_json(const RetentionHolder& holder);

}  // namespace onceward
