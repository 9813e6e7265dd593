#pragma once
// Makes claims of keys that were processed before Onceward was in use: a page of keys is one
// transaction, which also moves the import's position, so that an interrupted import continues
// where it ended. Exact while workers run: keys are claimed as a batch's are. Used by one thread;
// throws PostgresError, what the list throws, and std::runtime_error if another import of the same
// list runs.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/keys/key_scope.h"
#include "dedup/claims/claim_store.h"
#include "dedup/ledger/ledger.h"

namespace onceward {

struct KeyPage {
    std::vector<std::string> keys;
    std::string position;  // where the next page begins; never '' after a key
    bool end = false;      // nothing follows
    std::optional<double> share{};  // of the list that was read; nullopt if it is unknown
};

// Where keys are read from: page by page, each from a position that was written down.
class KeyList {
  public:
    virtual ~KeyList() = default;
    // `position`: '' at the beginning, else as a page before gave it.
    virtual KeyPage read(const std::string& position, std::size_t limit) = 0;
    // What the list is; two different lists have different descriptions.
    std::string description;
};

// The digest of a key's text. The digest is empty if no message could carry the key; `fault` then
// says why.
struct ImportedKey {
    std::optional<Digest> digest;
    std::string fault;
};

// The sum of all runs that belong together.
struct ImportReport {
    std::int64_t claimed = 0;
    std::int64_t known = 0;    // claimed before, or twice in the list
    std::int64_t refused = 0;  // no message could carry them
    // The first of those of this run, and why.
    std::string first_refused;
    std::string first_fault;
    bool resumed = false;
    bool finished = false;
};

struct ImportOptions {
    int ledger = 0;
    std::size_t page = 5000;  // keys in a transaction
    bool restart = false;     // start at the beginning, even if an earlier run was interrupted
    // What the keys of the list identify; part of what distinguishes one import from another.
    std::string meaning;
    std::function<ImportedKey(const std::string& key)> key;
    std::function<bool()> stopped;
    // After each page: the keys of this run, and the share of the list if it is known.
    std::function<void(std::int64_t keys, std::optional<double> share)> progress{};
};

ImportReport import_keys(Connection& connection, ClaimStore& claims, KeyList& list,
                         const ImportOptions& options);

// What the keys of a list are keys of: a topic's messages or a route's requests, as the
// configuration has them, from which it borrows; or calls of once(), which no configuration knows.
// Throws UsageError for a target that makes no sense, or whose claims a list could not make
// (import_target.cc).
struct ImportTarget {
    KeyScope scope;
    LedgerOptions ledger;
    // Why no message and no request could have this key; '' if one could.
    std::function<std::string(const std::string& key)> fault;
    // Registers the ledger, and that it is fed from there.
    std::function<RegisteredLedger(Connection&)> register_source;
    std::string effect;  // what happens to a message or a request with an imported key
};

ImportTarget target_of_topic(const Configuration& configuration, const std::string& topic);
ImportTarget target_of_route(const Configuration& configuration, const std::string& route);
// `operation` and `tenant` are those of OnceKey, the ledger is that of OnceOptions. Throws
// std::runtime_error if the ledger does not exist yet: its service sets how long it keeps claims.
ImportTarget target_of_calls(Connection& connection, const std::string& operation,
                             const std::string& tenant, const std::string& ledger);

}  // namespace onceward
