#include "dedup/claims/fold.h"

#include <algorithm>
#include <cassert>
#include <map>

#include "dedup/mutants.h"

namespace onceward {
namespace {

constexpr std::size_t ahead = 16;

// A message by the first bytes of its digest, which all but decide: the messages themselves lie
// too far apart to be read for each comparison.
struct Place {
    std::uint64_t head;
    std::uint32_t message;
};

// Orders as the bytes do.
std::uint64_t head_of(const Digest& digest) {
    std::uint64_t head = 0;
    for (std::size_t i = 0; i < sizeof head; ++i) head = head << 8 | digest.bytes[i];
    return head;
}

#ifdef ONCEWARD_MUTANTS
// Each key where it was first met; messages with the same key stay together.
void by_first_place(std::span<Message* const> messages, std::vector<std::uint32_t>& order) {
    std::map<Digest, std::uint32_t> first;
    for (const std::uint32_t at : order) first.try_emplace(messages[at]->digest, at);
    std::ranges::sort(order, [&](std::uint32_t left, std::uint32_t right) {
        const std::uint32_t one = first[messages[left]->digest];
        const std::uint32_t two = first[messages[right]->digest];
        return one != two ? one < two : left < right;
    });
}
#endif

}  // namespace

FoldedClaims::FoldedClaims(std::span<Message* const> messages) : messages_(messages) {
    std::vector<Place> places;
    places.reserve(messages.size());
    for (std::size_t i = 0; i < messages.size(); ++i) {
        if (!messages[i]->rejection && !messages[i]->skipped) {
            places.push_back({head_of(messages[i]->digest), static_cast<std::uint32_t>(i)});
        }
    }
    // DANGER: sorted by digest in every worker. Two workers that claim the same keys in opposite
    // orders deadlock.
    std::ranges::sort(places, [&](const Place& left, const Place& right) {
        if (left.head != right.head) return left.head < right.head;
        const auto compared = messages[left.message]->digest <=> messages[right.message]->digest;
        return compared != 0 ? compared < 0 : left.message < right.message;
    });
    order_.reserve(places.size());
    for (const Place& place : places) order_.push_back(place.message);
#ifdef ONCEWARD_MUTANTS
    if (mutant(Mutant::unsorted_batch)) by_first_place(messages, order_);
#endif
    claims_.reserve(order_.size());
    for (std::size_t i = 0; i < order_.size(); ++i) {
        // In the order of their digests the messages lie anywhere.
        if (i + ahead < order_.size()) {
            const Message& soon = *messages[order_[i + ahead]];
            __builtin_prefetch(&soon.digest);
            __builtin_prefetch(&soon.record);
        }
        const Message& message = *messages[order_[i]];
        if (!claims_.empty() && claims_.back().digest == message.digest) continue;
        first_.push_back(i);
        claims_.push_back(
            {message.digest, message.fingerprint, message.record.partition, message.record.offset});
    }
    first_.push_back(order_.size());
}

std::vector<std::optional<Verdict>> FoldedClaims::verdicts(
    std::span<const ClaimAnswer> answers) const {
    assert(answers.size() == claims_.size());
    std::vector<std::optional<Verdict>> verdicts(messages_.size());
    for (std::size_t claim = 0; claim < claims_.size(); ++claim) {
        const ClaimAnswer& answer = answers[claim];
        verdicts[order_[first_[claim]]] = answer.verdict;
        // What the key's one effect was made from: my own message where it is fresh, else the
        // earlier claim's.
        const std::optional<Digest>& known =
            answer.verdict == Verdict::fresh ? claims_[claim].fingerprint : answer.fingerprint;
        for (std::size_t i = first_[claim] + 1; i < first_[claim + 1]; ++i) {
            const std::optional<Digest>& mine = messages_[order_[i]]->fingerprint;
            verdicts[order_[i]] =
                known && mine && *known != *mine ? Verdict::conflict : Verdict::duplicate;
        }
    }
    return verdicts;
}

}  // namespace onceward
