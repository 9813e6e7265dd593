#include "cli/operator/ledger_json.h"

#include <nlohmann/json.hpp>

#include "cli/keys/key_lookup.h"

namespace onceward {

nlohmann::json to_json(const RetentionHolder& holder) {
    nlohmann::json json{{"group", holder.group},
                        {"watermark", holder.watermark ? nlohmann::json(*holder.watermark)
                                                       : nlohmann::json(nullptr)}};
    if (is_route_name(holder.topic)) {
        json["route"] = holder.topic;
    } else {
        json["topic"] = holder.topic;
        json["partition"] = holder.partition;
    }
    if (holder.replay) {
        json["replay"] = *holder.replay;
        json["started_by"] = holder.started_by;
        json["started_at"] = holder.started_at;
    }
    return json;
}

nlohmann::json to_json(const LedgerView& ledger) {
    nlohmann::json json{{"ledger", ledger.name},
                        {"store", ledger.store},
                        {"reach", ledger.reach},
                        {"retention_seconds", ledger.retention.count()},
                        {"generations", ledger.generations},
                        {"claims_estimated", ledger.claims},
                        {"claims_counted", ledger.claims_counted},
                        {"bytes", ledger.bytes},
                        {"oldest", ledger.oldest},
                        {"oldest_seconds", ledger.oldest_age.count()},
                        {"held_back_seconds", ledger.held_back.count()},
                        {"held_back_by", nlohmann::json::array()}};
    if (ledger.store == "lease") {
        json["leases_held"] = ledger.leases_held;
        json["leases_waiting"] = ledger.leases_waiting;
        json["oldest_lease_seconds"] = ledger.oldest_lease.count();
    }
    return json;
}

}  // namespace onceward
