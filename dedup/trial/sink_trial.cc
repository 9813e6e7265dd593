#include "dedup/trial/sink_trial.h"

#include <algorithm>
#include <iterator>

#include "dedup/claims/distinct_claims.h"
#include "dedup/policy/failure.h"
#include "schemas/queries.h"

namespace onceward {

std::optional<std::vector<ClaimAnswer>> MemoryStore::claim(Transaction&,
                                                           std::span<const Claim> claims) {
    return claim(claims);
}

std::vector<ClaimAnswer> MemoryStore::claim(std::span<const Claim> claims) {
    open_.clear();
    std::vector<ClaimAnswer> answers;
    answers.reserve(claims.size());
    for (const Claim& claim : claims) {
        const auto known = claims_.find(claim.digest);
        if (known == claims_.end()) {
            open_.emplace(claim.digest, claim.fingerprint);
            answers.push_back({Verdict::fresh, std::nullopt});
            continue;
        }
        answers.push_back(earlier_claim(claim, known->second));
    }
    return answers;
}

void MemoryStore::committed() { claims_.merge(open_); }

SinkTrial::SinkTrial(Connection& connection, Sink& sink) : connection_(connection), sink_(sink) {
    sink_.prepare(connection_);
}

TrialOutcome SinkTrial::apply(const std::vector<TrialMessage>& messages) {
    Chunk chunk;
    const Offset begin = next_offset_;
    for (const TrialMessage& source : messages) {
        Message& message = chunk.messages.emplace_back();
        message.record.offset = next_offset_;
        message.record.key = source.key;
        message.record.payload = source.payload;
        message.digest = digest_of({"trial", "", "field", source.key});
        message.key_text = source.key;
        message.operation = source.operation;
        message.fields = source.fields;
        message.rejection = sink_.encode(message, *chunk.arena);
        next_offset_ = next(next_offset_);
    }
    chunk.spans.push_back({Partition{0}, begin, next_offset_});
    Batch batch;
    append(batch, std::move(chunk));
    TrialOutcome outcome;
    const Slice slice = whole(batch);
    if (!attempt(slice, outcome)) {
        for (const Slice& single : singles(slice)) {
            if (!attempt(single, outcome)) attempt(single, outcome);
        }
    }
    for (const Message* message : slice.messages) {
        if (message->rejection) outcome.rejections.push_back(*message->rejection);
    }
    return outcome;
}

// Returns false if a message is at fault; if it was alone, it has its rejection then.
bool SinkTrial::attempt(const Slice& slice, TrialOutcome& outcome) {
    const DistinctClaims folded(slice.messages);
    const auto verdicts = folded.verdicts(claims_.claim(folded.claims()));
    std::vector<const Message*> fresh;
    Totals totals;
    for (std::size_t i = 0; i < slice.messages.size(); ++i) {
        if (!verdicts[i]) {
            ++totals.dead_lettered;
        } else if (*verdicts[i] == Verdict::fresh) {
            fresh.push_back(slice.messages[i]);
            ++totals.applied;
        } else {
            ++totals.duplicates;
        }
    }
    std::vector<MessageResult> results;
    try {
        OwnedTransaction transaction(connection_);
        if (!fresh.empty()) {
            sink_.write(transaction, {"trial", "trial"}, fresh);
            results = sink_.take_results();
        }
        transaction.pipelined({{sql::sink_constraints}});
        transaction.commit();
    } catch (const PostgresError& error) {
        if (meaning_of(error, Origin::sink) != FailureAction::reject) throw;
        if (slice.messages.size() == 1) {
            slice.messages.front()->rejection =
                Rejection{Rejection::Kind::sink, error.diagnosis().message, error.sqlstate(), 1};
        }
        return false;
    }
    claims_.committed();
    outcome.totals += totals;
    std::ranges::move(results, std::back_inserter(outcome.results));
    return true;
}

}  // namespace onceward
