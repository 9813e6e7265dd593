#pragma once
// What the relay knows of the rows that it has read: which may be sent now, which are under way,
// which keys and topics are held. Pure: no clock, no I/O. Not thread-safe. It ends with the relay's
// session: what it knows is true only for the rows of one server.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "consumer/produce/producer.h"
#include "dedup/message/digest.h"

namespace onceward {

// A row of the outbox.
struct OutboxRecord {
    std::int64_t position = 0;
    Digest id;
    std::string topic;
    std::optional<std::string> order_key;
    std::optional<std::string> key;
    std::optional<std::string> payload;
    std::string headers;  // see dedup/sink/packed_headers.h
    std::size_t bytes() const;
};

// A row that Kafka has; it can be deleted.
struct SentRow {
    std::string topic;
    std::int64_t position = 0;
    Digest id;
    friend bool operator==(const SentRow&, const SentRow&) = default;
};

// How far a relay's process had come when its session or its producer failed.
enum class RelayTerm : std::uint8_t {
    waited,  // to lead
    led,     // and sent nothing
    sent,
    gave_up,  // to lead, so that another process can
};
inline constexpr std::chrono::milliseconds first_relay_pause{500};
// The pause before the relay starts again: twice the last one, at most 30 s; the first one after a
// term that sent records. A process that only waited to lead pauses no longer than between two
// questions for the lead, so that it notices the death of another leader in time. One that gave up
// pauses for two questions, so that another one asks before it does.
std::chrono::milliseconds relay_pause(RelayTerm term, std::chrono::milliseconds last,
                                      std::chrono::milliseconds take_over_every);

class RelayBook {
  public:
    using Clock = std::chrono::steady_clock;
    struct Limits {
        // The most in memory at a time, without the slow rows. More pass faster if one round trip
        // to Kafka is long.
        std::size_t rows = 500;
        std::size_t bytes = 8 * 1024 * 1024;
        // The most together with the slow rows. One topic takes at most its share_beside() of it: a
        // partition without a leader answers none of its rows for the delivery's whole time-out.
        std::size_t all_rows = 5'000;
        // Over a slow link, all that is under way has to be answered within the delivery's time-out
        // of 30 s: 12 MiB take 24 s at 0.5 MiB/s.
        std::size_t all_bytes = 12 * 1024 * 1024;
        // A row may be larger than what its topic has left: it is cut, which means that it counts
        // as that much. One such row at a time is sent. Those that are slow let others pass, one of
        // each topic, up to this many bytes in all. A single one may be larger.
        std::size_t cut_bytes = 48 * 1024 * 1024;
        // The most of one key, so that a hot key leaves room for the others.
        std::size_t rows_of_key = 64;
        // The most held keys of one topic. Beyond that the whole topic is held: every read names
        // the keys that it leaves out.
        std::size_t held_keys = 10'000;
    };
    // What a read has to leave out.
    struct LeftOut {
        std::vector<std::string> topics;
        // Keys, each with its topic.
        std::vector<std::string> key_topics, keys;
        std::vector<std::int64_t> positions;  // rows without an order
    };
    // The result of a failure: how long its key, or its topic, is held.
    struct Held {
        std::string topic;
        bool first = false;  // not held just before
        std::chrono::milliseconds pause{0};
    };

    explicit RelayBook(Limits limits) : limits_(limits) {}

    // Adds the rows of a read that left out the last left_out(), for each key in the order of their
    // positions. REQUIRES: it read up to room_rows() and room_bytes(). Forgets holds that it tried
    // without finding a row, because the row was deleted.
    void add(std::vector<OutboxRecord> records);
    // The next record that may be sent, which is under way from here on; null if there is none now.
    // Only one row with the same key and topic is under way at a time: if it fails, no later one
    // may arrive. Valid until its outcome is known.
    const OutboxRecord* next(Clock::time_point now);
    void delivered(std::int64_t position, Clock::time_point now);
    // Returns nullopt if it is not a row of this book.
    std::optional<Held> failed(std::int64_t position, SendFailure failure, Clock::time_point now);
    // The rows delivered since the last call. REQUIRES: they are deleted before the next read.
    std::vector<SentRow> take_sent();
    // Rows that have been under way for half a second are slow: they leave their room to others.
    // The later rows of their keys are dropped, and read again.
    void set_aside_slow(Clock::time_point now);

    // What the next read leaves out. It tries those keys again whose holds have ended, a few of a
    // topic at a time.
    LeftOut left_out(Clock::time_point now);
    // When the next key or topic may be tried, of those that are not being tried. It is not after
    // `now` if a hold ended during the last read, or if a key got no place in it.
    std::optional<Clock::time_point> next_try(Clock::time_point now) const;
    // Whether there is room for another read that is worth its cost.
    bool has_room() const {
        return 2 * moving_rows() <= limits_.rows && 2 * moving_bytes() <= limits_.bytes &&
               all_.rows < limits_.all_rows && all_.bytes < limits_.all_bytes;
    }
    std::size_t room_rows() const { return limits_.rows - moving_rows(); }
    std::size_t room_bytes() const { return limits_.bytes - moving_bytes(); }
    // Whether nothing can be sent before the next read, though the table has rows to send.
    bool waits_for_rows() const { return more_ && moving_rows() == 0; }
    bool empty() const { return all_.rows == 0; }
    std::size_t under_way() const { return under_way_.size(); }
    std::size_t held_topics() const;
    std::size_t held_keys() const;

  private:
    // The name of rows that are sent one after the other: those of one key, or a single row without
    // an order.
    struct Lane {
        std::string topic;
        std::optional<std::string> order_key;
        std::int64_t position = 0;  // of a row without an order; else 0
        friend auto operator<=>(const Lane&, const Lane&) = default;
    };
    struct Hold {
        int failures = 0;  // 0: nothing is held
        Clock::time_point until{};
    };
    struct Row {
        OutboxRecord record;
        std::size_t counted;  // the bytes that count; fewer than it has if it is cut
        bool is_cut() const { return counted < record.bytes(); }
    };
    struct Amount {
        std::size_t rows = 0;
        std::size_t bytes = 0;  // that count
        std::size_t cut = 0;    // bytes of the rows that are cut, as they are
        void add(const Row& row);
        void remove(const Row& row);
    };
    struct LaneState {
        // Many lanes have a hold and no rows, and an empty deque takes half a kilobyte.
        std::list<Row> rows;
        Hold hold;
        bool slow = false;  // the first row
        bool more = false;  // the table has later rows, which were read and not kept
    };
    struct Topic {
        Hold hold;
        std::map<Lane, LaneState> lanes;  // each has rows or a hold
        Amount amount;                    // of their rows
        std::size_t held = 0;             // lanes
        std::size_t refused = 0;          // bytes of the first row that found no room
    };
    struct Sent {
        Clock::time_point at;
        std::int64_t position;
    };

    static Lane lane_of(const OutboxRecord& record);
    static Held extend(const std::string& topic, Hold& hold, Clock::time_point now);
    static void leave_out(const Lane& lane, LeftOut& out);
    void leave_out_lanes(Topic& topic, Clock::time_point now, LeftOut& out);
    void forget_deleted();
    Held hold_topic(const std::string& name, Topic& topic, Clock::time_point now);
    void drop_first(Topic& topic, LaneState& lane);
    void drop_later(Topic& topic, LaneState& lane);
    // Whether these rows of a topic are one of so many equal parts of its share, or more.
    bool fills_share(const Amount& amount, std::size_t parts) const;
    // How many bytes of such a row would count; nullopt if the topic has no room for it.
    std::optional<std::size_t> room_for(const Topic& topic, std::size_t bytes) const;
    // Whether the topic may have a row that is larger than what it has left.
    bool may_cut(const Topic& topic, std::size_t bytes) const;
    // Whether a held topic has all the rows that are tried at a time.
    bool is_tried(const Topic& topic) const {
        return topic.hold.failures > 0 && topic.amount.rows >= tries();
    }
    bool is_full(const Topic& topic) const;
    // The most rows of held keys of one topic that are tried at a time, without the slow ones, and
    // the most rows of a held topic.
    std::size_t tries() const { return std::max<std::size_t>(limits_.rows / 2, 1); }
    std::size_t moving_rows() const { return all_.rows - slow_.rows; }
    std::size_t moving_bytes() const { return all_.bytes - slow_.bytes; }
    Limits limits_;
    std::map<std::string, Topic> topics_;
    // What the last left_out() has not left out, though it was held.
    std::vector<Lane> tried_;
    std::vector<std::string> tried_topics_;
    std::deque<Lane> ready_;
    std::map<std::int64_t, Lane> under_way_;  // by position
    std::deque<Sent> young_;                  // those sent in the last half second, oldest first
    std::vector<SentRow> sent_;
    Amount all_;
    Amount slow_;        // of them
    bool more_ = false;  // the table has rows that a read would find now
};

}  // namespace onceward
