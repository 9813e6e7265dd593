#include "dedup/results/result_replay.h"

#include <unordered_map>

#include "dedup/base/logging.h"
#include "dedup/base/trace_context.h"

namespace onceward {
namespace {

// What a request carries over to its reply must not make a record that no topic accepts.
constexpr std::size_t longest_key = 64 * 1024;
constexpr std::size_t longest_header = 4 * 1024;

}  // namespace

Reply reply_to(const Message& request, const MessageResult& result, bool replayed,
               const ReplyOptions& options, const BatchContext& context) {
    Reply reply;
    reply.topic = options.topic;
    const Record& record = request.record;
    if (record.key && record.key->size() <= longest_key) reply.key = std::string(*record.key);
    reply.headers = result.headers;
    for (const std::string& name : options.correlation_headers) {
        if (request.trace != nullptr && name == traceparent_header) {
            reply.headers.emplace_back(name, to_traceparent(*request.trace));
            continue;
        }
        const auto value = last_header(record, name);
        if (value && value->size() <= longest_header) {
            reply.headers.emplace_back(name, std::string(*value));
        }
    }
    if (result.status != 0) {
        reply.headers.emplace_back("onceward-status", std::to_string(result.status));
    }
    if (result.kind == MessageResult::Kind::failed) {
        reply.headers.emplace_back("onceward-failed", "true");
    }
    if (replayed) reply.headers.emplace_back("onceward-replayed", "true");
    reply.body = result.body;
    if (!request.tenant.empty()) reply.tenant = std::string(request.tenant);
    // The key is part of it: a recreated topic has another request at the same offset.
    const std::string place =
        std::to_string(record.partition.raw()) + "/" + std::to_string(record.offset.raw());
    reply.id = digest_of(
        {context.consumer_group + "/" + context.topic, hex(request.digest), "reply", place});
    return reply;
}

ResultReplay::ResultReplay(ResultReplayOptions options, BatchContext context, ResultStore& store,
                           Replies* replies)
    : options_(std::move(options)),
      context_(std::move(context)),
      store_(store),
      replies_(replies) {}

void ResultReplay::begin() {
    results_.clear();
    open_.clear();
    replayed_ = false;
    store_.begin();
}

void ResultReplay::take(std::vector<MessageResult> taken, std::span<const Message* const> fresh) {
    if (taken.empty()) return;
    if (taken.size() != fresh.size()) {
        throw SinkMismatch("the sink gave " + std::to_string(taken.size()) + " results for " +
                           std::to_string(fresh.size()) + " messages");
    }
    results_.reserve(taken.size());
    for (MessageResult& result : taken) {
        const std::size_t bytes = result.body.size();
        std::optional<MessageResult> kept = storable(std::move(result), options_.limits);
        if (!kept) {
            // A data exception, so that the search finds this message and the dead letters get it.
            throw PostgresError({.sqlstate = "54000",
                                 .message = "the message's result, with a body of " +
                                            std::to_string(bytes) +
                                            " bytes, is above results.max_bytes"});
        }
        results_.push_back(std::move(*kept));
    }
}

void ResultReplay::store(Transaction& transaction, std::span<const Message* const> fresh,
                         std::span<const Message* const> duplicates) {
    std::vector<ResultStore::Stored> stored;
    for (std::size_t at = 0; at < results_.size(); ++at) {
        stored.push_back({fresh[at]->digest, std::string(fresh[at]->tenant), results_[at]});
    }
    store_.put(transaction, stored);
    if (replies_ == nullptr) return;
    std::vector<Reply> replies;
    std::unordered_map<Digest, std::size_t> own;
    for (std::size_t at = 0; at < results_.size(); ++at) {
        replies.push_back(reply_to(*fresh[at], results_[at], false, options_.reply, context_));
        if (!duplicates.empty()) own.emplace(fresh[at]->digest, at);
    }
    for (const Message* duplicate : duplicates) {
        const auto first = own.find(duplicate->digest);
        if (first == own.end()) {
            open_.push_back(duplicate);
            continue;
        }
        replies.push_back(
            reply_to(*duplicate, results_[first->second], true, options_.reply, context_));
    }
    replay(transaction, replies);
    send(transaction, replies);
}

void ResultReplay::replay(Transaction& transaction, std::vector<Reply>& replies) {
    std::vector<Digest> wanted;
    std::unordered_map<Digest, std::size_t> places;
    for (const Message* duplicate : open_) {
        if (places.emplace(duplicate->digest, wanted.size()).second) {
            wanted.push_back(duplicate->digest);
        }
    }
    const std::vector<std::optional<MessageResult>> found = store_.get(transaction, wanted);
    std::erase_if(open_, [&](const Message* duplicate) {
        const std::optional<MessageResult>& result = found[places.at(duplicate->digest)];
        if (!result) return false;
        replayed_ = true;
        replies.push_back(reply_to(*duplicate, *result, true, options_.reply, context_));
        return true;
    });
}

void ResultReplay::send(Transaction& transaction, std::span<const Reply> replies) const {
    if (!replies.empty()) replies_->write(transaction, replies);
}

Settlement ResultReplay::settle(Transaction& transaction) { return store_.settle(transaction); }

Settlement ResultReplay::replay_rest(Transaction& transaction) {
    // Results that another worker was about to commit at the verdicts are committed by now.
    std::vector<Reply> replies;
    replay(transaction, replies);
    send(transaction, replies);
    if (!open_.empty()) {
        const Record& first = open_.front()->record;
        log_warning("results.missing", {{"topic", context_.topic},
                                        {"messages", open_.size()},
                                        {"partition", first.partition.raw()},
                                        {"offset", first.offset.raw()}});
    }
    // DANGER: compare the erasures after the last reply is written. An erasure that was committed
    // while that waited for its lock did not see the reply, which would then be sent all the same.
    const bool erased = replayed_ && store_.erased(transaction);
    return erased ? Settlement::again : Settlement::settled;
}

void ResultReplay::committed() {
    store_.committed();
    begin();
}

void ResultReplay::connection_lost() {
    begin();
    store_.connection_lost();
}

}  // namespace onceward
