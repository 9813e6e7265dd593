#pragma once
// What the relay knows of the rows that it has read: which may be sent now, which are under way,
// which keys and topics are held. Pure: no clock, no I/O. Not thread-safe. It ends with the relay's
// session: what it knows is true only for the rows of one server.

#include <chrono>
#include <cstdint>
#include <deque>
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
        // The most in memory at a time. More pass faster if one round trip to Kafka is long.
        std::size_t rows = 500;
        std::size_t bytes = 8 * 1024 * 1024;
        // The most of one key, so that a hot key leaves room for the others.
        std::size_t rows_of_key = 64;
        // The most held keys of one topic. Beyond that the whole topic is held: every read would
        // have to leave the keys out one by one.
        std::size_t held_keys = 1000;
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

    // Adds rows of a read that left out left_out(), for each key in the order of their positions.
    void add(std::vector<OutboxRecord> records);
    // The next record that may be sent, which is under way from here on; null if there is none now.
    // Only one row with the same key and topic is under way at a time: if it fails, no later one
    // may arrive. Valid until its outcome is known.
    const OutboxRecord* next();
    void delivered(std::int64_t position);
    // Returns nullopt if it is not a row of this book.
    std::optional<Held> failed(std::int64_t position, SendFailure failure, Clock::time_point now);
    // The rows delivered since the last call. REQUIRES: they are deleted before the next read.
    std::vector<SentRow> take_sent();

    LeftOut left_out(Clock::time_point now) const;
    // Forgets holds that ended a minute ago and for which no row was read since then: the row was
    // deleted.
    void forget_old(Clock::time_point now);
    // When the first of the holds ends.
    std::optional<Clock::time_point> next_try(Clock::time_point now) const;
    // Whether there is room for another read that is worth its cost.
    bool has_room() const { return 2 * rows_ <= limits_.rows && 2 * bytes_ <= limits_.bytes; }
    std::size_t room_rows() const { return limits_.rows - rows_; }
    std::size_t room_bytes() const { return limits_.bytes - bytes_; }
    bool empty() const { return lanes_.empty(); }
    std::size_t under_way() const { return under_way_.size(); }
    std::size_t held_topics() const { return held_topics_.size(); }
    std::size_t held_keys() const { return held_lanes_.size(); }

  private:
    // Rows that are sent one after the other: those of one key, or a single row without an order.
    struct Lane {
        std::string topic;
        std::optional<std::string> order_key;
        std::int64_t position = 0;  // of a row without an order; else 0
        friend auto operator<=>(const Lane&, const Lane&) = default;
    };
    struct Hold {
        int failures = 0;
        Clock::time_point until{};
    };
    using Lanes = std::map<Lane, std::deque<OutboxRecord>>;

    static Lane lane_of(const OutboxRecord& record);
    static Held extend(const std::string& topic, Hold& hold, Clock::time_point now);
    Held hold_topic(const std::string& topic, Clock::time_point now);
    void drop_from(std::deque<OutboxRecord>& rows, std::size_t first);
    void end(Lanes::iterator lane);
    Limits limits_;
    Lanes lanes_;  // never an empty one
    std::deque<Lane> ready_;
    std::map<std::int64_t, Lane> under_way_;  // by position
    std::map<Lane, Hold> held_lanes_;
    std::map<std::string, Hold> held_topics_;
    std::vector<SentRow> sent_;
    std::size_t rows_ = 0;
    std::size_t bytes_ = 0;
};

}  // namespace onceward
