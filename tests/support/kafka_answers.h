#pragma once
// Finds a broker's answers in the bytes of one connection, and puts error codes into those of the
// group protocol. The broker has done what was asked: it only says otherwise. Used by one thread.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace onceward::support {

// As the protocol numbers its requests; of others no answer is changed.
enum class GroupRequest : std::int16_t {
    offset_commit = 8,
    join_group = 11,
    heartbeat = 12,
    sync_group = 14,
    consumer_group_heartbeat = 68,
};

// The error code that this answer gets; 0: it stays as it is.
using AnswerRule = std::function<std::int16_t(GroupRequest)>;

class KafkaAnswers {
  public:
    // What the client sends, which is passed on unchanged.
    void requested(std::string_view bytes);
    // What the broker sends. Returns what is passed on to the client: an answer that is to be
    // changed is kept back until it is whole.
    std::string answered(std::string_view bytes, const AnswerRule& rule);

  private:
    struct Request {
        GroupRequest kind;
        std::int16_t version;
    };
    std::string request_head_;
    std::size_t request_rest_ = 0;
    std::map<std::int32_t, Request> waiting_;  // by their correlation ids
    std::string answer_head_;
    std::size_t answer_rest_ = 0;
    std::optional<std::pair<Request, std::int16_t>> kept_;  // what is kept back, and its code
};

// Puts the code into an answer's body, which begins after the correlation id; false where it is
// none that is known.
bool put_error(std::string& body, GroupRequest kind, std::int16_t version, std::int16_t code);

}  // namespace onceward::support
