#pragma once
// Which process works on a ledger. Used by one thread.

#include <string>

#include "dedup/postgres/connection.h"
#include "schemas/queries.h"

namespace onceward {

// The right to do one kind of work on a ledger, for as long as this object lives. Held by the
// session and not by a transaction, since the work is several of them.
class Leadership {
  public:
    // `work`: a ledger's number, followed by a word if the work is not rotating and dropping.
    Leadership(Connection& connection, std::string work)
        : connection_(connection), work_(std::move(work)) {
        held_ = connection_.query(sql::retention_leader, {work_}).boolean(0, 0);
    }
    Leadership(const Leadership&) = delete;
    ~Leadership() {
        if (!held_) return;
        try {
            connection_.query(sql::retention_leader_release, {work_});
        } catch (const PostgresError&) {
            // The session is gone, and its locks with it.
        }
    }
    bool held() const { return held_; }

  private:
    Connection& connection_;
    const std::string work_;
    bool held_ = false;
};

}  // namespace onceward
