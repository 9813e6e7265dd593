#pragma once
// Stores a sink's results with the claims, in the processor's transaction, and replays them to
// duplicates as replies. One object for each worker and topic, used by the writer's thread; borrows
// the store and the replies. Failures are PostgresErrors, and SinkMismatch if a sink answers for
// another number of messages than it was given.

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dedup/message/digest.h"
#include "dedup/message/message.h"
#include "dedup/postgres/transaction.h"
#include "dedup/results/result_store.h"
#include "dedup/sink/sink.h"

namespace onceward {

// Answers to messages, on their way to a topic of replies: written in the transaction of the
// messages that they answer, and sent by the class that implements this. Used by the writer's
// thread; failures are PostgresErrors.
struct Reply {
    std::string topic;
    std::optional<std::string> key;  // of the record; replies of one key stay in their order
    std::vector<std::pair<std::string, std::string>> headers;
    std::string body;
    Digest id;  // the same whenever the same message is answered again
    // The tenant of the key; nullopt if keys have none. Erasing a tenant also deletes replies that
    // were not sent yet.
    std::optional<std::string> tenant = {};
};

class Replies {
  public:
    virtual ~Replies() = default;
    virtual void write(Transaction& transaction, std::span<const Reply> replies) = 0;
};

// What a topic's requests are answered with.
struct ReplyOptions {
    std::string topic;  // '': no replies
    // Headers of the request that its reply carries over.
    std::vector<std::string> correlation_headers = default_correlation_headers();
    static std::vector<std::string> default_correlation_headers() {
        return {"correlation-id", "kafka_correlationId", "traceparent"};
    }
};

struct ResultReplayOptions {
    ResultLimits limits;
    ReplyOptions reply;
    // Most bytes of results that a worker remembers for this topic. A larger value saves look-ups
    // of results that are replayed often.
    std::size_t cache_bytes = 4 * 1024 * 1024;
};

// About the most bytes of a reply besides its result: a longer record key is left out, and so are
// longer headers of the request.
inline constexpr std::size_t reply_bytes_beside = 128 * 1024;

// The reply to one request. Pure.
Reply reply_to(const Message& request, const MessageResult& result, bool replayed,
               const ReplyOptions& options, const BatchContext& context);

class ResultReplay {
  public:
    // `replies`: null if no replies are sent.
    ResultReplay(ResultReplayOptions options, BatchContext context, ResultStore& store,
                 Replies* replies);
    // Begins an attempt. The calls come in this order; a failure of take() is the sink's own:
    void begin();
    // The sink's results of these messages, which it has just written. One that is too large is a
    // data error (54000) if the policy is to reject it.
    void take(Sink& sink, std::span<const Message* const> fresh) {
        if (!fresh.empty()) take(sink.take_results(), fresh);
    }
    // The same for results that the caller has; if `results` is empty, there are none.
    void take(std::vector<MessageResult> results, std::span<const Message* const> fresh);
    // Stores them; replies to these messages and to the duplicates.
    void store(Transaction& transaction, std::span<const Message* const> fresh,
               std::span<const Message* const> duplicates);
    // Replays answers to duplicates whose result was not there yet. Called after the claims'
    // confirm() and before their settle(): with settle()'s lock held nothing large may be read.
    // `again`: results were erased after they were read, and their replies must not be sent.
    [[nodiscard]] Settlement replay_rest(Transaction& transaction);
    // Called after the claims' settle().
    Settlement settle(Transaction& transaction);
    void committed();
    void connection_lost();

  private:
    // Replies to those whose result is known; the others stay in `open_`.
    void replay(Transaction& transaction, std::vector<Reply>& replies);
    void send(Transaction& transaction, std::span<const Reply> replies) const;
    ResultReplayOptions options_;
    BatchContext context_;
    ResultStore& store_;
    Replies* replies_;
    std::vector<MessageResult> results_;  // of the attempt's fresh messages
    std::vector<const Message*> open_;    // duplicates whose result is not known yet
    bool replayed_ = false;               // in this attempt
};

}  // namespace onceward
