#include "tests/faults/checker/log_claims.h"

#include <algorithm>
#include <map>

namespace onceward::checker {
namespace {

constexpr std::size_t digest_letters = 32;

bool within(const LogRow& row, const Place& place) {
    return place.topic == row.topic &&
           std::ranges::any_of(row.ranges, [&](const LogRow::Range& range) {
               return place.partition == range.partition && place.offset >= range.first &&
                      place.offset <= range.last;
           });
}

}  // namespace

void add_log_claims(const std::vector<LogRow>& rows, Evidence& evidence) {
    std::map<Transaction, std::vector<Place>> effects;
    for (const Effect& effect : evidence.effects) {
        effects[effect.transaction].push_back(effect.place);
    }
    for (const LogRow& row : rows) {
        const std::size_t count = row.digests.size() / digest_letters;
        const Place surplus{row.topic, row.ranges.empty() ? 0 : row.ranges.front().partition,
                            row.ranges.empty() ? -1 : row.ranges.front().first};
        std::vector<Place>& places = effects[row.transaction];
        for (std::size_t i = 0; i < count; ++i) {
            const auto found = std::ranges::find_if(
                places, [&](const Place& place) { return within(row, place); });
            const Place place = found == places.end() ? surplus : *found;
            if (found != places.end()) {
                std::swap(*found, places.back());
                places.pop_back();
            }
            evidence.claims.push_back(
                {.place = place,
                 .transaction = row.transaction,
                 .ledger = row.ledger,
                 .generation = row.generation,
                 .digest = row.digests.substr(i * digest_letters, digest_letters)});
        }
    }
}

}  // namespace onceward::checker
