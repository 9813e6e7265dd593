#include "tests/faults/campaign/core/trace.h"

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "dedup/base/text.h"

namespace onceward::campaign::core {
namespace {

using Json = nlohmann::ordered_json;

// What a row of one transaction says, and when its fence moved.
struct Written {
    // One without a move comes last, where no judge takes it.
    std::int64_t sequence = std::numeric_limits<std::int64_t>::max();
    Json moves = Json::array(), effects = Json::array(), claims = Json::array(),
         dead_letters = Json::array();
};

Json json_of(const checker::Place& place) {
    return {{"partition", place.partition}, {"offset", place.offset}};
}

Json json_of(const checker::FenceMove& move) {
    return {{"partition", move.name.partition},
            {"session", move.session},
            {"old_owner", move.old_owner},
            {"new_owner", move.new_owner},
            {"old_epoch", move.old_epoch},
            {"new_epoch", move.new_epoch},
            {"from", move.old_next},
            {"to", move.new_next},
            {"applied", move.counted.applied},
            {"duplicates", move.counted.duplicates},
            {"conflicts", move.counted.conflicts},
            {"dead_lettered", move.counted.dead_lettered},
            {"skipped", move.counted.skipped}};
}

}  // namespace

void write_trace(const checker::Evidence& evidence, std::ostream& out) {
    for (const checker::ProducedMessage& message : evidence.produced) {
        out << Json{{"message", json_of(message.place)},
                    {"key", hex(message.key)},
                    {"skipped", message.nature == checker::Nature::without_key}}
                   .dump()
            << "\n";
    }
    std::map<checker::Transaction, Written> steps;
    for (const checker::FenceMove& move : evidence.moves) {
        Written& step = steps[move.transaction];
        const bool first = step.moves.empty();
        step.sequence = first ? move.sequence : std::max(step.sequence, move.sequence);
        step.moves.push_back(json_of(move));
    }
    for (const checker::Effect& effect : evidence.effects) {
        steps[effect.transaction].effects.push_back(json_of(effect.place));
    }
    for (const checker::Claim& claim : evidence.claims) {
        steps[claim.transaction].claims.push_back(json_of(claim.place));
    }
    for (const checker::DeadLetter& letter : evidence.dead_letters) {
        steps[letter.transaction].dead_letters.push_back(json_of(letter.place));
    }
    std::vector<std::pair<checker::Transaction, const Written*>> order;
    for (const auto& [transaction, step] : steps) order.emplace_back(transaction, &step);
    std::ranges::stable_sort(order, {}, [](const auto& entry) { return entry.second->sequence; });
    for (const auto& [transaction, step] : order) {
        out << Json{{"transaction", transaction},
                    {"moves", step->moves},
                    {"effects", step->effects},
                    {"claims", step->claims},
                    {"dead_letters", step->dead_letters}}
                   .dump()
            << "\n";
    }
    Json told = Json::array();
    for (const checker::CommittedOffset& committed : evidence.committed) {
        told.push_back({{"partition", committed.name.partition}, {"offset", committed.offset}});
    }
    // Claims that expired are in no table any more.
    out << Json{{"told", told},
                {"failed_over", evidence.settings.failed_over},
                {"claims_complete", !evidence.settings.retention_us.has_value()}}
               .dump()
        << "\n";
}

}  // namespace onceward::campaign::core
