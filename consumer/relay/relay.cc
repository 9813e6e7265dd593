#include "consumer/relay/relay.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <stdexcept>

#include "consumer/relay/read_pace.h"
#include "dedup/base/backoff.h"
#include "dedup/base/logging.h"
#include "dedup/base/mutants.h"
#include "dedup/message/letter_marks.h"
#include "dedup/server/server_session.h"
#include "dedup/sink/packed_headers.h"
#include "schemas/queries.h"

namespace onceward {

using std::chrono::milliseconds;
using Clock = RelayBook::Clock;

namespace {

constexpr milliseconds poll_wait{20};     // for Kafka's answers, while any is to come
constexpr milliseconds notice_stop{200};  // longest wait that nothing but time ends
constexpr milliseconds tell_every{60'000};

// What the guarantee requires of the producer besides idempotence.
ProducerOptions for_relay(ProducerOptions options, std::size_t record_max) {
    options.linger = milliseconds{1};
    // A longer one would only keep a key waiting: a failed key is held, and tried again.
    options.delivery_timeout = std::min(options.delivery_timeout, milliseconds{30'000});
    options.properties.emplace("batch.size", lone_record_batch_bytes);
    constexpr std::size_t room_for_id = 1024;
    std::size_t largest = std::max<std::size_t>(record_max + room_for_id, 1'000'000);
    Secret& allowed = options.properties["message.max.bytes"];
    // The user's own value if it is larger: the outbox holds rows of `record_max` already.
    std::size_t given = 0;
    const std::string& text = allowed.reveal();
    std::from_chars(text.data(), text.data() + text.size(), given);
    allowed = Secret(std::to_string(std::max(largest, given)));
    // A topic that does not exist is held, and asked for again.
    options.properties.emplace("topic.metadata.propagation.max.ms", "5000");
    options.properties.emplace("topic.metadata.refresh.interval.ms", "5000");
    return options;
}

// Kafka refuses the time of all records. They get it from this process's clock.
class TimeRefused : public std::runtime_error {
  public:
    TimeRefused()
        : std::runtime_error("Kafka refuses the time of all records: this process's clock differs "
                             "from the broker's by more than the topics allow "
                             "(message.timestamp.after.max.ms); another process may lead") {}
};

}  // namespace

// A term of leadership: all that it knows ends with its session.
class Relay::Leader {
  public:
    Leader(Relay& relay, Connection& connection)
        : relay_(relay),
          options_(relay.options_),
          connection_(connection),
          book_(options_.limits),
          producer_(for_relay(options_.producer, options_.record_max)) {
        producer_.on_delivery([this](const Delivery& delivery) {
            const auto position = static_cast<std::int64_t>(delivery.tag);
            trace_end(position, delivery.error.empty() ? "" : to_text(send_failure(delivery.code)));
            if (!delivery.error.empty()) {
                if (is_time_refused(delivery.code) && !time_refused_) time_refused_ = Clock::now();
                return fail(position, send_failure(delivery.code), delivery.error);
            }
            time_refused_.reset();
            book_.delivered(position, Clock::now());
            const MutexLock lock(relay_.mutex_);
            ++relay_.counts_.sent;
        });
        connection_.execute(sql::outbox_listen);
    }

    void run(const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            send_ready();
            producer_.poll(book_.under_way() > 0 ? poll_wait : milliseconds{0});
            // Send before the statements: Kafka works on the records during them.
            send_ready();
            delete_sent();
            book_.set_aside_slow(Clock::now());
            const bool is_due = pace_.is_due(Clock::now(), book_.waits_for_rows());
            if (book_.has_room() && is_due) read();
            // All groups share the channel: notifications for the others' relays must not
            // accumulate while this one is busy.
            connection_.notified(milliseconds{0});
            if (book_.empty()) rest(stop);
            if (time_refused_ && Clock::now() > *time_refused_ + options_.clock_patience) {
                throw TimeRefused();
            }
            tell();
        }
        const auto deadline = Clock::now() + options_.drain_timeout;
        while (book_.under_way() > 0 && Clock::now() < deadline) producer_.poll(poll_wait);
        delete_sent();
    }

  private:
    void send_ready() {
        while (const OutboxRecord* record = book_.next(Clock::now())) send(*record);
    }

    void send(const OutboxRecord& record) {
        const std::int64_t position = record.position;
        const std::string id = uuid_text(record.id);
        std::vector<Header> headers;
        try {
            headers = headers_of(record.headers);
        } catch (const std::runtime_error& error) {
            // Another program wrote this row. The other rows can be sent.
            return fail(position, SendFailure::record, error.what());
        }
        std::string trace;  // which `headers` has a view of
        trace_begin(record, headers, trace);
        try {
            // This header is the last one: if a name is repeated, the last one counts.
            headers.push_back({outbox_id_header, id});
            producer_.send({.topic = record.topic,
                            .key = record.key,
                            .payload = record.payload,
                            .headers = headers,
                            .tag = static_cast<std::uint64_t>(position)});
            if (mutant("row_deleted_before_kafkas_answer")) {
                book_.delivered(position, Clock::now());
            }
        } catch (const RecordRefused& refused) {
            trace_end(position, to_text(send_failure(refused.code)));
            fail(position, send_failure(refused.code), refused.what());
        }
    }

    // Begins the span of a try, if the record's trace is recorded, and replaces the row's context
    // with that of the span, which `text` holds.
    void trace_begin(const OutboxRecord& record, std::vector<Header>& headers, std::string& text) {
        if (options_.tracer == nullptr || is_dead_letter(headers)) return;
        const auto is_parent = [](const Header& header) {
            return header.name == traceparent_header && header.value;
        };
        const auto found = std::ranges::find_if(headers, is_parent);
        if (found == headers.end()) return;
        const auto parent = parse_traceparent(*found->value);
        if (!parent || !parent->sampled) return;
        TraceSpan span = begin_span("send " + record.topic, SpanKind::producer, *parent);
        const auto state = std::ranges::find(headers, tracestate_header, &Header::name);
        if (state != headers.end()) span.tracestate = state->value.value_or("");
        span.add("messaging.system", "kafka");
        span.add("messaging.operation.type", "send");
        span.add("messaging.operation.name", "send");
        span.add("messaging.destination.name", record.topic);
        span.add("messaging.message.id", uuid_text(record.id));
        text = to_traceparent(span.context);
        found->value = text;
        spans_.insert_or_assign(record.position, std::move(span));
    }

    void trace_end(std::int64_t position, std::string_view failure) {
        auto ended = spans_.extract(position);
        if (ended.empty()) return;
        if (!failure.empty()) ended.mapped().fail(std::string(failure));
        options_.tracer->end(std::move(ended.mapped()));
    }

    void fail(std::int64_t position, SendFailure failure, const std::string& error) {
        const auto held = book_.failed(position, failure, Clock::now());
        if (!held) return;
        if (held->first) {
            log_warning("outbox.held", {{"group", options_.group},
                                        {"topic", held->topic},
                                        {"position", position},
                                        {"what", to_text(failure)},
                                        {"error", error},
                                        {"for_ms", held->pause.count()}});
        }
        const MutexLock lock(relay_.mutex_);
        ++relay_.counts_.failed.at(static_cast<std::size_t>(failure));
    }

    void delete_sent() {
        const std::vector<SentRow> sent = book_.take_sent();
        if (sent.empty()) return;
        std::vector<std::optional<std::string_view>> topics;
        std::vector<std::int64_t> positions;
        std::vector<Digest> ids;
        for (const SentRow& row : sent) {
            topics.emplace_back(row.topic);
            positions.push_back(row.position);
            ids.push_back(row.id);
        }
        reached(options_.observer, Step::before_outbox_delete);
        // DANGER: delete rows only after Kafka's answer, or records would be lost. If the statement
        // fails, or its outcome is in doubt, the rows are read and sent again, under the same ids.
        connection_.prepared(sql::outbox_sent, {options_.group, topics, positions, ids});
    }

    // Returns how many rows it found.
    int read() {
        const auto begin = Clock::now();
        const RelayBook::LeftOut out = book_.left_out(begin);
        const QueryResult rows = connection_.prepared(
            sql::outbox_waiting,
            Parameters{options_.group, views(out.topics), views(out.key_topics)}
                .byte_strings(views(out.keys))
                .integers(out.positions)
                .integer(static_cast<std::int64_t>(book_.room_rows()))
                .integer(static_cast<std::int64_t>(book_.room_bytes())),
            {}, true);
        std::vector<OutboxRecord> records;
        for (int row = 0; row < rows.rows(); ++row) {
            const auto copy = [&](int column) {
                return std::optional<std::string>(rows.optional_text(row, column));
            };
            records.push_back({rows.binary_integer(row, 0), rows.binary_digest(row, 1),
                               std::string(rows.text(row, 2)), copy(3), copy(4), copy(5),
                               std::string(rows.text(row, 6))});
        }
        book_.add(std::move(records));
        pace_.ended(begin, Clock::now(), rows.rows() > 0);
        return rows.rows();
    }

    static std::vector<std::optional<std::string_view>> views(
        const std::vector<std::string>& texts) {
        return {texts.begin(), texts.end()};
    }

    // Waits until rows are written, or it is time to check anyway. REQUIRES: the book is empty.
    void rest(const std::stop_token& stop) {
        const Parameters group{options_.group};
        if (!connection_.query(sql::outbox_sleep, group).boolean(0, 0)) {
            connection_.notified(ReadPace::look_again);
            return;
        }
        // DANGER: read after taking the lock. A writer that committed earlier sent no notification.
        if (read() == 0) {
            // A try that is due already makes the next read follow at once. These reads come to an
            // end: each forgets what it tried, because it found no row.
            const auto now = Clock::now();
            const auto until = std::min(now + options_.poll_every,
                                        book_.next_try(now).value_or(Clock::time_point::max()));
            while (!stop.stop_requested() && Clock::now() < until) {
                const auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
                if (connection_.notified(std::clamp(left, milliseconds{1}, notice_stop))) break;
            }
            pace_.read_at(Clock::now());
        }
        connection_.query(sql::outbox_awake, group);
    }

    // Reports what is held, again and again.
    void tell() {
        const auto topics = static_cast<std::int64_t>(book_.held_topics());
        const auto keys = static_cast<std::int64_t>(book_.held_keys());
        {
            const MutexLock lock(relay_.mutex_);
            relay_.counts_.held_topics = topics;
            relay_.counts_.held_keys = keys;
        }
        if (topics + keys == 0 || Clock::now() < next_word_) return;
        next_word_ = Clock::now() + tell_every;
        log_warning("outbox.holding",
                    {{"group", options_.group}, {"topics", topics}, {"keys", keys}});
    }

    Relay& relay_;
    const RelayOptions& options_;
    Connection& connection_;
    RelayBook book_;
    ReadPace pace_;
    Clock::time_point next_word_{};
    // When Kafka first refused a record's time, of those after the last one that it took.
    std::optional<Clock::time_point> time_refused_;
    std::map<std::int64_t, TraceSpan> spans_;  // of records under way, by position
    Producer producer_;  // the last member: its end may still report deliveries to the others
};

Relay::Relay(RelayOptions options) : options_(std::move(options)) {
    options_.connection.application_name += " outbox";
    options_.frozen_after = std::max(options_.frozen_after, 2 * options_.poll_every);
}

RelayCounts Relay::counts() const {
    const MutexLock lock(mutex_);
    return counts_;
}

void Relay::serve(Connection& connection, const std::stop_token& stop) {
    const Parameters group{options_.group};
    while (!connection.query(sql::outbox_leader, group).boolean(0, 0) &&
           !mutant("relay_without_the_leader_lock")) {
        sleep_unless(stop, options_.take_over_every);
        if (stop.stop_requested()) return;
    }
    log_info("outbox.leads", {{"group", options_.group}});
    {
        const MutexLock lock(mutex_);
        counts_.leads = true;
    }
    Leader(*this, connection).run(stop);
}

void Relay::run(std::stop_token stop) {
    ServerSession session({.connection = options_.connection, .set_up = [this](Connection& made) {
                               made.query(sql::outbox_session,
                                          {std::to_string(options_.frozen_after.count()) + "ms"});
                           }});
    milliseconds pause = first_relay_pause;
    while (!stop.stop_requested()) {
        const std::int64_t sent = counts().sent;
        std::string error;
        std::string sqlstate;
        bool gave_up = false;
        try {
            serve(session.open(), stop);
        } catch (const TimeRefused& refused) {
            gave_up = true;
            error = refused.what();
        } catch (const PostgresError& failure) {
            error = failure.summary();
            sqlstate = failure.sqlstate();
        } catch (const std::exception& failure) {
            error = failure.what();
        }
        session.end();  // All that the relay knows ends with it.
        RelayTerm term = RelayTerm::waited;
        {
            const MutexLock lock(mutex_);
            if (counts_.leads) term = counts_.sent > sent ? RelayTerm::sent : RelayTerm::led;
            if (gave_up) term = RelayTerm::gave_up;
            counts_.leads = false;
            counts_.held_topics = counts_.held_keys = 0;
            counts_.restarts += stop.stop_requested() ? 0 : 1;
        }
        if (stop.stop_requested()) break;
        log_warning("outbox.relay_failed",
                    {{"group", options_.group}, {"sqlstate", sqlstate}, {"error", error}});
        pause = relay_pause(term, pause, options_.take_over_every);
        sleep_unless(stop, pause);
    }
}

}  // namespace onceward
