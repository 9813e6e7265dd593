#include <algorithm>

#include "tests/faults/checker/joined.h"
#include "tests/faults/checker/twice.h"

namespace onceward::checker {
namespace {

Numbers numbers_of(const Joined& joined) {
    Numbers numbers;
    numbers.keys = static_cast<std::int64_t>(joined.keys().size());
    for (const auto& [name, view] : joined.partitions()) {
        for (const Message& message : view.messages) {
            if (message.in_log) ++numbers.messages;
            switch (message.outcome) {
                case Outcome::applied: numbers.applied += joined.times_applied(message); break;
                case Outcome::duplicate: ++numbers.duplicates; break;
                case Outcome::conflict: ++numbers.conflicts; break;
                case Outcome::dead_letter: ++numbers.dead_letters; break;
                case Outcome::skipped:
                case Outcome::skipped_range: ++numbers.skipped; break;
                // One that could be applied is counted with its key below.
                case Outcome::nowhere:
                    numbers.lost += joined.can_be_applied(message) ? 0 : 1;
                    break;
                case Outcome::waiting:
                case Outcome::vanished: break;
            }
        }
    }
    for (const Key& key : joined.keys()) {
        if (joined.is_lost(key)) ++numbers.lost;
    }
    const RequestLosses requests = count_request_losses(joined.evidence());
    const RequestLosses called = count_route_losses(joined.evidence());
    numbers.lost += requests.lost + called.lost;
    numbers.twice =
        static_cast<std::int64_t>(twice_applied(joined).size()) + requests.twice + called.twice;
    numbers.requests = static_cast<std::int64_t>(joined.evidence().requests.size());
    return numbers;
}

std::vector<std::string> unchecked(const Joined& joined) {
    const Evidence& evidence = joined.evidence();
    std::vector<std::string> texts;
    if (!evidence.settings.audited) {
        texts.push_back("I4, I5, I18 and the chain of I2: audit.sql was not installed");
        if (evidence.settings.retention_us && joined.generations_dropped()) {
            texts.push_back("I8: audit.sql was not installed");
        }
    }
    const bool published = std::ranges::any_of(evidence.topics, &TopicSettings::published);
    if (published && evidence.settings.failed_over) {
        texts.push_back("I10's order: a message may be applied in another's place after it");
    }
    if (joined.generations_dropped()) {
        for (const TopicSettings& topic : evidence.topics) {
            if (topic.upsert) {
                texts.push_back("I1 of topic " + topic.name + ": claims were dropped");
            }
        }
    }
    return texts;
}

}  // namespace

Verdict judge(const Evidence& evidence) {
    const Joined joined(evidence);
    Verdict verdict;
    verdict.numbers = numbers_of(joined);
    verdict.problems = joined.problems();
    verdict.unchecked = unchecked(joined);
    const auto take = [&verdict](Violations found) {
        for (Violation& violation : found) verdict.violations.push_back(std::move(violation));
    };
    take(check_effects(joined));
    take(check_fence_moves(joined));
    take(check_coverage(joined));
    take(check_transactions(joined));
    take(check_owners(evidence));
    take(check_claims(joined));
    take(check_fail_over(joined));
    take(check_retention(joined));
    take(check_leases(joined));
    take(check_calls(joined));
    take(check_outbox(joined));
    take(check_dead_letters(joined));
    take(check_lag(joined));
    take(check_secrets(evidence));
    take(check_order(joined));
    take(check_totals(joined));
    take(check_trouble(joined));
    take(check_standstills(joined));
    take(check_requests(evidence));
    take(check_route_calls(evidence));
    return verdict;
}

}  // namespace onceward::checker
