#pragma once
// What became of an idempotency key on one PostgreSQL server: its claims, leases, results, outbox
// rows, dead letters and evictions. `onceward explain` prints it, and the admin port's page shows
// it. Used by one thread; failures are PostgresErrors.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/keys/key_lookup.h"
#include "dedup/postgres/connection.h"

namespace onceward {

// What is looked for on one server. REQUIRES: a configuration, if the question names no owner.
KeySearch search_of(const KeyQuestion& question, const Configuration* configuration,
                    const std::string& database);

struct KeyStoryOptions {
    std::string database;
    std::string group;           // whose ledgers count as the key's own; '': those of any group
    bool whole_results = false;  // with headers and body, which are somebody's data
};

// An object: `applied`, and the lists `ledgers`, `claims`, `results`, `leases`, `outbox`,
// `evictions`, `dead_letters`, `discarded_dead_letters` (null if the role may not read them) and
// `without_tenant`. `claims_since`: since when all of the ledgers have claims. If they do not know
// the key, it was not applied since then.
nlohmann::json key_story(Connection& connection, const KeyQuestion& question,
                         const KeySearch& search, const KeyStoryOptions& options);

// Whether this is of the key itself, and of a ledger that could know it. If no ledger is known, as
// with a group that was retired or a schema that was restored, what any ledger has counts.
bool is_own(const nlohmann::json& ledgers, const nlohmann::json& found);

}  // namespace onceward
