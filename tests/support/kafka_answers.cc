#include "tests/support/kafka_answers.h"

#include <algorithm>
#include <stdexcept>

namespace onceward::support {
namespace {

// The length, then the request's kind, its version and its correlation id.
constexpr std::size_t request_head_size = 12;
// The length, then the correlation id.
constexpr std::size_t answer_head_size = 8;
constexpr std::size_t identity_size = 4;

std::int32_t number_at(std::string_view bytes, std::size_t at, std::size_t size) {
    std::uint32_t value = 0;
    for (const char byte : bytes.substr(at, size))
        value = (value << 8U) | static_cast<unsigned char>(byte);
    return size == 2 ? static_cast<std::int16_t>(value) : static_cast<std::int32_t>(value);
}

bool of_a_group(std::int32_t kind) {
    switch (static_cast<GroupRequest>(kind)) {
        case GroupRequest::offset_commit:
        case GroupRequest::join_group:
        case GroupRequest::heartbeat:
        case GroupRequest::sync_group:
        case GroupRequest::consumer_group_heartbeat: return true;
    }
    return false;
}

// From which version on lengths are short and fields may be tagged, and from which one on the
// answer begins with the time that the client is to wait.
std::pair<int, int> versions_of(GroupRequest kind) {
    switch (kind) {
        case GroupRequest::offset_commit: return {8, 3};
        case GroupRequest::join_group: return {6, 2};
        case GroupRequest::heartbeat: return {4, 1};
        case GroupRequest::sync_group: return {4, 1};
        case GroupRequest::consumer_group_heartbeat: break;
    }
    return {0, 0};
}

class Cursor {
  public:
    explicit Cursor(std::string& bytes) : bytes_(bytes) {}
    void skip(std::size_t size) { at_ += size; }
    std::size_t number(std::size_t size) {
        need(size);
        at_ += size;
        return static_cast<std::size_t>(number_at(bytes_, at_ - size, size));
    }
    std::size_t short_number() {
        std::size_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            need(1);
            const auto byte = static_cast<unsigned char>(bytes_[at_++]);
            value |= static_cast<std::size_t>(byte & 0x7fU) << shift;
            if ((byte & 0x80U) == 0) return value;
        }
    }
    void put(std::int16_t code) {
        need(2);
        bytes_[at_++] = static_cast<char>(static_cast<std::uint16_t>(code) >> 8U);
        bytes_[at_++] = static_cast<char>(code);
    }
    // Nobody has sent any so far.
    void no_tags() {
        if (short_number() != 0) throw std::runtime_error("an answer has tagged fields");
    }

  private:
    void need(std::size_t size) const {
        if (at_ + size > bytes_.size()) throw std::runtime_error("an answer is too short");
    }
    std::string& bytes_;
    std::size_t at_ = 0;
};

void put_into_each_partition(Cursor& cursor, bool flexible, std::int16_t version,
                             std::int16_t code) {
    constexpr std::int16_t names_by_id = 10;
    constexpr std::size_t id_size = 16;
    const auto length = [&] { return flexible ? cursor.short_number() - 1 : cursor.number(4); };
    for (std::size_t topics = length(); topics > 0; --topics) {
        if (version >= names_by_id) {
            cursor.skip(id_size);
        } else {
            cursor.skip(flexible ? cursor.short_number() - 1 : cursor.number(2));
        }
        for (std::size_t partitions = length(); partitions > 0; --partitions) {
            cursor.skip(4);
            cursor.put(code);
            if (flexible) cursor.no_tags();
        }
        if (flexible) cursor.no_tags();
    }
}

}  // namespace

bool put_error(std::string& body, GroupRequest kind, std::int16_t version, std::int16_t code) {
    const auto [flexible_from, waits_from] = versions_of(kind);
    const bool flexible = version >= flexible_from;
    std::string changed = body;
    Cursor cursor(changed);
    try {
        if (flexible) cursor.no_tags();
        if (version >= waits_from) cursor.skip(4);
        if (kind == GroupRequest::offset_commit) {
            put_into_each_partition(cursor, flexible, version, code);
        } else {
            cursor.put(code);
        }
    } catch (const std::runtime_error&) {
        return false;
    }
    body = std::move(changed);
    return true;
}

void KafkaAnswers::requested(std::string_view bytes) {
    while (!bytes.empty()) {
        if (request_rest_ > 0) {
            const std::size_t size = std::min(request_rest_, bytes.size());
            bytes.remove_prefix(size);
            request_rest_ -= size;
            continue;
        }
        const std::size_t size = std::min(request_head_size - request_head_.size(), bytes.size());
        request_head_ += bytes.substr(0, size);
        bytes.remove_prefix(size);
        if (request_head_.size() < request_head_size) return;
        const std::int32_t kind = number_at(request_head_, 4, 2);
        if (of_a_group(kind)) {
            waiting_[number_at(request_head_, 8, 4)] = {
                static_cast<GroupRequest>(kind),
                static_cast<std::int16_t>(number_at(request_head_, 6, 2))};
        }
        request_rest_ = static_cast<std::size_t>(number_at(request_head_, 0, 4)) + 4 -
                        request_head_size;
        request_head_.clear();
    }
}

std::string KafkaAnswers::answered(std::string_view bytes, const AnswerRule& rule) {
    std::string on;
    while (!bytes.empty()) {
        if (answer_rest_ > 0) {
            const std::size_t size = std::min(answer_rest_, bytes.size());
            std::string& target = kept_ ? answer_head_ : on;
            target += bytes.substr(0, size);
            bytes.remove_prefix(size);
            answer_rest_ -= size;
            if (answer_rest_ > 0 || !kept_) continue;
            std::string body = answer_head_.substr(answer_head_size);
            put_error(body, kept_->first.kind, kept_->first.version, kept_->second);
            on += answer_head_.substr(0, answer_head_size) + body;
            answer_head_.clear();
            kept_.reset();
            continue;
        }
        const std::size_t size = std::min(answer_head_size - answer_head_.size(), bytes.size());
        answer_head_ += bytes.substr(0, size);
        bytes.remove_prefix(size);
        if (answer_head_.size() < answer_head_size) return on;
        answer_rest_ = static_cast<std::size_t>(number_at(answer_head_, 0, 4)) - identity_size;
        const auto request = waiting_.find(number_at(answer_head_, 4, 4));
        if (request != waiting_.end()) {
            const std::int16_t code = rule ? rule(request->second.kind) : std::int16_t{0};
            if (code != 0 && answer_rest_ > 0) kept_.emplace(request->second, code);
            waiting_.erase(request);
        }
        if (kept_) continue;
        on += answer_head_;
        answer_head_.clear();
    }
    return on;
}

}  // namespace onceward::support
