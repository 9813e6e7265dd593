#include "dedup/claims/distinct_claims.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>

#include "dedup/base/expects.h"
#include "dedup/base/mutants.h"

namespace onceward {
namespace {

// A message's claim, with the first bytes of its digest, which nearly always decide the order.
struct Place {
    std::uint64_t head;
    std::uint32_t found;  // its place among the claims in the order of the messages
};

// Orders as the bytes do.
std::uint64_t head_of(const Digest& digest) {
    std::uint64_t head = 0;
    for (std::size_t i = 0; i < sizeof head; ++i) head = head << 8 | digest.bytes[i];
    return head;
}

// Digests are spread evenly. So they are first put by their first bits into about as many buckets
// as there are places, and then each bucket is sorted. If they are not spread evenly, they share a
// bucket, and this is an ordinary sort.
template <class Less>
void sort_places(std::vector<Place>& places, Less less) {
    const int bits = std::clamp(static_cast<int>(std::bit_width(places.size())) - 1, 1, 14);
    const auto bucket = [&](const Place& place) { return place.head >> (64 - bits); };
    std::vector<std::uint32_t> ends((std::size_t{1} << bits) + 1);
    for (const Place& place : places) ++ends[bucket(place) + 1];
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    std::vector<Place> sorted(places.size());
    // This moves each bucket's beginning to its end.
    for (const Place& place : places) sorted[ends[bucket(place)]++] = place;
    std::uint32_t begin = 0;
    for (const std::uint32_t end : ends) {
        if (end > begin + 1) std::sort(sorted.begin() + begin, sorted.begin() + end, less);
        begin = end;
    }
    places = std::move(sorted);
}

#ifdef ONCEWARD_MUTANTS
// Sorts each key to where it was first met; messages with the same key stay together.
void by_first_place(std::span<const Claim> found, std::vector<Place>& places) {
    std::map<Digest, std::uint32_t> first;
    for (const Place& place : places) first.try_emplace(found[place.found].digest, place.found);
    std::ranges::sort(places, [&](const Place& left, const Place& right) {
        const std::uint32_t one = first[found[left.found].digest];
        const std::uint32_t two = first[found[right.found].digest];
        return one != two ? one < two : left.found < right.found;
    });
}
#endif

// Whether the ledger cannot judge the key, by its time. It claims nothing then.
bool is_unjudged(const ClaimAnswer& answer) {
    return answer.verdict == Verdict::late || answer.verdict == Verdict::early;
}

}  // namespace

DistinctClaims::DistinctClaims(std::span<Message* const> messages) : messages_(messages) {
    // The messages lie too far apart to be read in another order: read them once, in their own.
    std::vector<Claim> found;
    std::vector<std::uint32_t> message_of;
    std::vector<Place> places;
    found.reserve(messages.size());
    message_of.reserve(messages.size());
    places.reserve(messages.size());
    for (std::size_t i = 0; i < messages.size(); ++i) {
        const Message& message = *messages[i];
        if (message.rejection || message.skipped) continue;
        places.push_back({head_of(message.digest), static_cast<std::uint32_t>(found.size())});
        message_of.push_back(static_cast<std::uint32_t>(i));
        found.push_back({message.digest, message.fingerprint, message.record.partition,
                         message.record.offset, judged_at(message)});
    }
    // DANGER: sorted by digest in every worker. Two workers that claim the same keys in opposite
    // orders deadlock.
    sort_places(places, [&](const Place& left, const Place& right) {
        if (left.head != right.head) return left.head < right.head;
        const auto compared = found[left.found].digest <=> found[right.found].digest;
        return compared != 0 ? compared < 0 : left.found < right.found;
    });
#ifdef ONCEWARD_MUTANTS
    if (mutant("unsorted_batch")) by_first_place(found, places);
#endif
    order_.reserve(places.size());
    claims_.reserve(places.size());
    first_.reserve(places.size() + 1);
    for (const Place& place : places) {
        order_.push_back(message_of[place.found]);
        const Claim& claim = found[place.found];
        if (!claims_.empty() && claims_.back().digest == claim.digest) continue;
        first_.push_back(order_.size() - 1);
        claims_.push_back(claim);
    }
    first_.push_back(order_.size());
}

std::vector<std::optional<Verdict>> DistinctClaims::verdicts(
    std::span<const ClaimAnswer> answers) const {
    expects(answers.size() == claims_.size(), "there is one answer for each claim");
    std::vector<std::optional<Verdict>> verdicts(messages_.size());
    for (std::size_t claim = 0; claim < claims_.size(); ++claim) {
        const ClaimAnswer& answer = answers[claim];
        verdicts[order_[first_[claim]]] = answer.verdict;
        // The fingerprint that the key's one effect was made from: my own message's if it is
        // fresh, else the earlier claim's.
        const std::optional<Digest>& known =
            answer.verdict == Verdict::fresh ? claims_[claim].fingerprint : answer.fingerprint;
        const bool refused = is_unjudged(answer);
        for (std::size_t i = first_[claim] + 1; i < first_[claim + 1]; ++i) {
            if (refused) {
                verdicts[order_[i]] = answer.verdict;
                continue;
            }
            const std::optional<Digest>& mine = messages_[order_[i]]->fingerprint;
            verdicts[order_[i]] =
                known && mine && *known != *mine ? Verdict::conflict : Verdict::duplicate;
        }
    }
    return verdicts;
}

// A follower that is refused for the same reason needs no cut: each cut ends an attempt, and in a
// late backlog all repeats may have later times than the first message, and be late as well.
std::optional<std::size_t> DistinctClaims::judged_apart(
    std::span<const ClaimAnswer> answers) const {
    std::optional<std::size_t> first;
    for (std::size_t claim = 0; claim < claims_.size(); ++claim) {
        const ClaimAnswer& answer = answers[claim];
        if (!is_unjudged(answer)) continue;
        const bool late = answer.verdict == Verdict::late;
        for (std::size_t i = first_[claim] + 1; i < first_[claim + 1]; ++i) {
            const std::size_t follower = order_[i];
            const std::optional<MintedAt> own = judged_at(*messages_[follower]);
            const bool same = own && (late ? *own < answer.bound : *own > answer.bound);
            if (!same) first = std::min(first.value_or(follower), follower);
        }
    }
    return first;
}

DistinctClaims::Met DistinctClaims::met(const Message& conflict,
                                        std::span<const ClaimAnswer> answers) const {
    auto claim = std::ranges::lower_bound(claims_, conflict.digest, {}, &Claim::digest);
    // A mutant leaves them unsorted.
    if constexpr (mutants_built) {
        claim = std::ranges::find(claims_, conflict.digest, &Claim::digest);
    }
    expects(claim != claims_.end() && claim->digest == conflict.digest,
            "a message in conflict is one of the slice");
    const auto at = static_cast<std::size_t>(claim - claims_.begin());
    if (answers[at].verdict == Verdict::fresh) {
        return {messages_[order_[first_[at]]], claim->fingerprint.value()};
    }
    return {nullptr, answers[at].fingerprint.value()};
}

}  // namespace onceward
