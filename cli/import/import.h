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

#include "dedup/claims/claim_store.h"

namespace onceward {

struct KeyPage {
    std::vector<std::string> keys;
    std::string position;  // where the next page begins; never '' after a key
    bool end = false;      // nothing follows
};

// Where keys are read from: page by page, each from a position that was written down.
class KeyList {
  public:
    virtual ~KeyList() = default;
    // `position`: '' at the beginning, else as a page before gave it.
    virtual KeyPage read(const std::string& position, std::size_t limit) = 0;
    // What it is: another list has another one.
    std::string description;
};

// What makes a digest of a key's text; the digest is empty if no message could carry the key, with
// the reason.
struct ImportedKey {
    std::optional<Digest> digest;
    std::string fault;
};

// The sum of all runs that belong together.
struct ImportReport {
    std::int64_t claimed = 0;
    std::int64_t known = 0;    // claimed before, or twice in the list
    std::int64_t refused = 0;  // no message could carry them
    std::string first_fault;   // of those of this run
    bool resumed = false;
    bool finished = false;
};

struct ImportOptions {
    int ledger = 0;
    std::string topic;
    std::size_t page = 5000;  // keys in a transaction
    bool restart = false;     // from the beginning, also where an earlier run was interrupted
    // What the keys of the list identify; part of what distinguishes one import from another.
    std::string meaning;
    std::function<ImportedKey(const std::string& key)> key;
    std::function<bool()> stopped;
};

ImportReport import_keys(Connection& connection, ClaimStore& claims, KeyList& list,
                         const ImportOptions& options);

}  // namespace onceward
