#include "tests/support/proxied_link.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace onceward::support {
namespace {

constexpr std::size_t read_size = 64 * 1024;
constexpr std::size_t slow_read_size = 2048;
constexpr std::size_t parcels_limit = 256;  // of read_size at most: beyond, the sender has to wait

// The type and length of the message that tells the process id.
constexpr std::string_view backend_key_data{"K\0\0\0\x0c", 5};

}  // namespace

ProxiedLink::ProxiedLink(Socket client, Socket server, CuttingProxy::Protocol protocol,
                         std::optional<ByteCut> byte_cut)
    : client_(std::move(client)),
      server_(std::move(server)),
      protocol_(protocol),
      byte_cut_(byte_cut) {}

bool ProxiedLink::wants_to_read(Direction direction) const {
    if (direction == Direction::to_server && (hole_ || cut_)) return false;
    return source(direction).open() && !way(direction).source_ended &&
           way(direction).parcels.size() < parcels_limit;
}

bool ProxiedLink::wants_to_write(Direction direction, Clock::time_point now) const {
    return target(direction).open() && !way(direction).parcels.empty() &&
           way(direction).parcels.front().due <= now;
}

std::optional<ProxiedLink::Clock::time_point> ProxiedLink::next_due() const {
    std::optional<Clock::time_point> earliest;
    for (const Way& way : ways_) {
        if (!way.parcels.empty() && (!earliest || way.parcels.front().due < *earliest))
            earliest = way.parcels.front().due;
    }
    return earliest;
}

std::size_t ProxiedLink::read(Direction direction, const Pace& pace, const LinkRules& rules) {
    // A limited link takes small pieces, so that none of them waits for long by itself.
    std::string bytes(pace.bytes_a_second == 0 ? read_size : slow_read_size, '\0');
    const ssize_t size = recv(source(direction).get(), bytes.data(), bytes.size(), 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    if (size <= 0) {
        ended(direction);
        return 0;
    }
    bytes.resize(static_cast<std::size_t>(size));
    Clock::time_point due = std::max(pace.due, way(direction).idle_from);
    if (pace.bytes_a_second != 0)
        due += std::chrono::microseconds(bytes.size() * 1'000'000 / pace.bytes_a_second);
    way(direction).idle_from = due;
    if (direction == Direction::to_server) {
        from_client(bytes, due, rules.commit);
    } else {
        from_server(std::move(bytes), due, rules.answer);
    }
    return static_cast<std::size_t>(size);
}

// The side that is read has no more to say.
void ProxiedLink::ended(Direction direction) {
    way(direction).source_ended = true;
    way(direction).end_follows = true;
    if (direction == Direction::to_client) {
        server_.close();
        way(Direction::to_server).parcels.clear();
    }
    end_if_due(direction);
}

// Hands the end on when all that was before it is written.
void ProxiedLink::end_if_due(Direction direction) {
    if (!way(direction).end_follows || !way(direction).parcels.empty()) return;
    if (direction == Direction::to_client) {
        client_.close();
        if (!cut_) server_.close();
    } else if (server_.open()) {
        shutdown(server_.get(), SHUT_WR);
    }
}

void ProxiedLink::from_client(std::string_view bytes, Clock::time_point due,
                              const CommitRule& rule) {
    if (protocol_ != CuttingProxy::Protocol::postgres) {
        if (protocol_ == CuttingProxy::Protocol::kafka) kafka_.requested(bytes);
        forward(Direction::to_server, std::string(bytes), due);
        return;
    }
    for (FrontendParser::Piece& piece : parser_.take(bytes)) {
        if (cut_ || hole_) return;
        if (piece.commit) {
            const CommitFault fault = rule(parser_.application_name());
            commit_arrived(std::move(piece.bytes), fault, due);
        } else {
            forward(Direction::to_server, std::move(piece.bytes), due);
        }
    }
}

void ProxiedLink::commit_arrived(std::string bytes, CommitFault fault, Clock::time_point due) {
    switch (fault) {
        case CommitFault::none: forward(Direction::to_server, std::move(bytes), due); return;
        case CommitFault::cut_before: cut(); return;
        case CommitFault::cut_inside_request:
            forward(Direction::to_server, bytes.substr(0, bytes.size() / 2), due);
            cut();
            return;
        case CommitFault::cut_after:
            forward(Direction::to_server, std::move(bytes), due);
            cut();
            return;
        case CommitFault::cut_inside_answer:
            answer_ = Answer::cut_in_half;
            forward(Direction::to_server, std::move(bytes), due);
            return;
        case CommitFault::hole_before:
            hole_ = true;
            answer_ = Answer::discard;
            return;
        case CommitFault::hole_after:
            forward(Direction::to_server, std::move(bytes), due);
            hole_ = true;
            answer_ = Answer::discard;
            return;
    }
}

void ProxiedLink::from_server(std::string bytes, Clock::time_point due, const AnswerRule& rule) {
    if (cut_) return;
    if (protocol_ == CuttingProxy::Protocol::kafka) bytes = kafka_.answered(bytes, rule);
    if (change_process_id_) {
        const std::size_t at = bytes.find(backend_key_data);
        if (at != std::string::npos && at + backend_key_data.size() + 4 <= bytes.size()) {
            bytes[at + backend_key_data.size() + 3] ^= 1;
            change_process_id_ = false;
        }
    }
    switch (answer_) {
        case Answer::forward: forward(Direction::to_client, std::move(bytes), due); return;
        case Answer::cut_in_half:
            bytes.resize(std::max<std::size_t>(1, bytes.size() / 2));
            forward(Direction::to_client, std::move(bytes), due);
            cut();
            return;
        case Answer::discard: return;
    }
}

void ProxiedLink::forward(Direction direction, std::string bytes, Clock::time_point due) {
    Way& way = this->way(direction);
    bool reached = false;
    if (byte_cut_ && byte_cut_->direction == direction &&
        way.passed + bytes.size() >= byte_cut_->position) {
        bytes.resize(static_cast<std::size_t>(byte_cut_->position - way.passed));
        reached = true;
    }
    way.passed += bytes.size();
    if (!bytes.empty()) way.parcels.push_back({due, std::move(bytes)});
    if (!reached) return;
    cut_at_byte_ = !cut_;
    cut();
}

void ProxiedLink::write(Direction direction, Clock::time_point now) {
    Way& way = this->way(direction);
    while (wants_to_write(direction, now)) {
        std::string& bytes = way.parcels.front().bytes;
        const ssize_t size =
            send(target(direction).get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (size < 0) {
            // The reader is gone: nothing more for it, and the other side shall know.
            way.parcels.clear();
            ended(direction == Direction::to_server ? Direction::to_client : Direction::to_server);
            if (direction == Direction::to_client) client_.close();
            return;
        }
        bytes.erase(0, static_cast<std::size_t>(size));
        if (bytes.empty()) way.parcels.pop_front();
    }
    end_if_due(direction);
}

void ProxiedLink::cut() {
    if (cut_) return;
    cut_ = true;
    for (const Direction direction : {Direction::to_server, Direction::to_client}) {
        way(direction).end_follows = true;
        end_if_due(direction);
    }
}

}  // namespace onceward::support
