#include "lab/demo/verdict.h"

#include <map>
#include <utility>

namespace onceward::demo {

Verdict judge(std::span<const ProducedKey> produced, std::span<const AppliedKey> applied) {
    std::map<std::pair<Topic, Digest>, std::int64_t> rows;
    for (const AppliedKey& key : applied) rows[{key.topic, key.key}] += key.rows;

    Verdict verdict;
    verdict.unique_keys = static_cast<std::int64_t>(produced.size());
    for (const ProducedKey& key : produced) {
        verdict.produced += key.messages;
        const auto found = rows.find({key.topic, key.key});
        if (found == rows.end() || found->second == 0) {
            verdict.lost += key.messages;
            continue;
        }
        verdict.applied += 1;
        verdict.duplicates += key.messages - 1;
        verdict.twice += found->second - 1;
        rows.erase(found);
    }
    for (const auto& [key, count] : rows) verdict.unknown += count;
    return verdict;
}

}  // namespace onceward::demo
