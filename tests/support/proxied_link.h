#pragma once
// One connection that goes through the proxy: two sockets and what waits to be written to them.
// Belongs to the proxy's thread.

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "lab/embedded/socket.h"
#include "tests/support/cutting_proxy.h"
#include "tests/support/frontend_parser.h"

namespace onceward::support {

struct ByteCut {
    CuttingProxy::Direction direction;
    std::uint64_t position;
};

using CommitRule = std::function<CommitFault(const std::string& application_name)>;

struct LinkRules {
    const CommitRule& commit;
    const AnswerRule& answer;
};

class ProxiedLink {
  public:
    using Clock = std::chrono::steady_clock;
    using Direction = CuttingProxy::Direction;

    ProxiedLink(Socket client, Socket server, CuttingProxy::Protocol protocol,
                std::optional<ByteCut> byte_cut);

    // The server's BackendKeyData gets another process id on its way.
    void change_process_id() { change_process_id_ = true; }

    // What to poll for: whether that socket is to be read, or has something due to be written.
    bool wants_to_read(Direction direction) const;
    bool wants_to_write(Direction direction, Clock::time_point now) const;
    // When the next delayed piece is due.
    std::optional<Clock::time_point> next_due() const;
    int reading_socket(Direction direction) const { return source(direction).get(); }
    int writing_socket(Direction direction) const { return target(direction).get(); }

    // How late what is read shall arrive: not before `due`, and at most at that rate.
    struct Pace {
        Clock::time_point due;
        std::uint64_t bytes_a_second = 0;  // 0: no limit
    };
    // Answers with how many bytes came.
    std::size_t read(Direction direction, const Pace& pace, const LinkRules& rules);
    void write(Direction direction, Clock::time_point now);
    // The client's end breaks when what is on its way is written; the server is let to finish with
    // what it got, then sees the end: its unread bytes must not be lost to a reset.
    void cut();
    bool was_cut() const { return cut_; }
    bool was_cut_at_its_byte() const { return cut_at_byte_; }
    bool finished() const { return !client_.open() && !server_.open(); }

  private:
    struct Parcel {
        Clock::time_point due;
        std::string bytes;
    };
    struct Way {
        std::deque<Parcel> parcels;
        std::uint64_t passed = 0;
        Clock::time_point idle_from{};  // when all that was read will have been sent
        bool source_ended = false;      // nothing more can be read
        bool end_follows = false;       // after the last parcel
    };
    enum class Answer : std::uint8_t { forward, cut_in_half, discard };

    Way& way(Direction direction) { return ways_[static_cast<int>(direction)]; }
    const Way& way(Direction direction) const { return ways_[static_cast<int>(direction)]; }
    const Socket& source(Direction direction) const {
        return direction == Direction::to_server ? client_ : server_;
    }
    const Socket& target(Direction direction) const {
        return direction == Direction::to_server ? server_ : client_;
    }
    void ended(Direction direction);
    void end_if_due(Direction direction);
    void forward(Direction direction, std::string bytes, Clock::time_point due);
    void from_client(std::string_view bytes, Clock::time_point due, const CommitRule& rule);
    void commit_arrived(std::string bytes, CommitFault fault, Clock::time_point due);
    void from_server(std::string bytes, Clock::time_point due, const AnswerRule& rule);

    Socket client_;
    Socket server_;
    Way ways_[2];
    CuttingProxy::Protocol protocol_;
    std::optional<ByteCut> byte_cut_;
    FrontendParser parser_;
    KafkaAnswers kafka_;
    Answer answer_ = Answer::forward;
    bool hole_ = false;  // nothing is read from the client any more
    bool cut_ = false;
    bool change_process_id_ = false;
    bool cut_at_byte_ = false;
};

}  // namespace onceward::support
