#include "cli/replay/replay.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "consumer/kafka/range_reader.h"
#include "consumer/registry/schema_cache.h"
#include "dedup/base/backoff.h"
#include "dedup/base/text.h"
#include "dedup/ledger/ledger.h"
#include "dedup/policy/failure.h"
#include "dedup/processor.h"
#include "dedup/results/result_replay.h"
#include "dedup/server/server_session.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

using std::chrono::milliseconds;

constexpr int most_replay_tries = 100;  // that fail one after another
constexpr std::chrono::seconds longest_read{60};

std::string offsets_text(Offset begin, Offset end) {
    return "offsets " + std::to_string(begin.raw()) + " to " + std::to_string(end.raw() - 1);
}

// The topic's sink. It also resolves, in the sink's transaction, the dead letters of what is
// applied now: if they stayed open, a redrive would send them once more.
class Replayed final : public Sink {
  public:
    explicit Replayed(std::unique_ptr<Sink> sink) : sink_(std::move(sink)) {
        if (sink_->effects() != nullptr) {
            throw std::invalid_argument("effects outside of PostgreSQL are not replayed");
        }
    }
    std::vector<FieldSource> fields() const override { return sink_->fields(); }
    void prepare(Connection& connection) override { sink_->prepare(connection); }
    std::string target_state(Connection& connection) override {
        return sink_->target_state(connection);
    }
    std::optional<Rejection> encode(Message& message,
                                    std::pmr::memory_resource& arena) const override {
        return sink_->encode(message, arena);
    }
    void write(Transaction& transaction, const BatchContext& context,
               std::span<const Message* const> messages) override {
        sink_->write(transaction, context, messages);
        transaction.query(sql::replay_resolve, letters_of(context, messages));
    }
    bool begin_parts(Transaction& transaction) override { return sink_->begin_parts(transaction); }
    std::vector<SinkStatement> part(const BatchContext& context,
                                    std::span<const Message* const> messages) override {
        std::vector<SinkStatement> statements = sink_->part(context, messages);
        statements.push_back({sql::replay_resolve, letters_of(context, messages)});
        return statements;
    }
    void part_written(std::span<const QueryResult> answers,
                      std::span<const Message* const> messages) override {
        sink_->part_written(answers.first(answers.size() - 1), messages);
    }
    std::vector<MessageResult> take_results() override { return sink_->take_results(); }

  private:
    static Parameters letters_of(const BatchContext& context,
                                 std::span<const Message* const> messages) {
        std::vector<std::int32_t> partitions;
        std::vector<std::int64_t> offsets;
        for (const Message* message : messages) {
            partitions.push_back(message->record.partition.raw());
            offsets.push_back(message->record.offset.raw());
        }
        return Parameters{context.consumer_group, context.topic, partitions, offsets};
    }

    std::unique_ptr<Sink> sink_;
};

class Replay {
  public:
    Replay(const KnownReplay& replay, const ReplayOptions& options)
        : replay_(replay),
          options_(options),
          topic_(options.worker.topics.at(0)),
          context_{options.group, topic_.name},
          sink_(topic_.sink()),
          dead_letters_(options.worker.dead_letters()),
          intake_({options.group, topic_.name, topic_.format, topic_.key, patient(topic_.schemas)},
                  sink_),
          sampler_(options.worker.kafka),
          fences_(fences_of(options.group, replay), "onceward replay"),
          session_({.connection = options.worker.postgres,
                    .set_up = [this](Connection& connection) { set_up(connection); },
                    .forget = [this] { forget(); }}) {
        intake_.set_topic_id(options.identity.topic_id);
    }

    ReplayReport run() {
        for (const ReplayRange& range : replay_.ranges) {
            while (!stopped() && !in_session([&] { return read(range); })) {
            }
            earlier_ += range.end.raw() - range.begin.raw();
        }
        ReplayReport report;
        report.finished = !stopped();
        const auto end = [&] {
            if (report.finished) {
                session_->query(sql::actor_set, {options_.actor});
                session_->query(sql::replay_finish, {replay_.number});
            }
            report.totals = totals();
            return true;
        };
        while (!in_session(end)) {
        }
        return report;
    }

  private:
    bool stopped() const { return options_.stopped && options_.stopped(); }

    // Returns true if it is done, false if it must begin again, from the fence's offset.
    template <class Work>
    bool in_session(Work work) {
        try {
            session_.open();
            return work();
        } catch (const MessageWaits& waits) {
            pause(waits.pause);
        } catch (const StoreChanged&) {
            session_.end();  // The next session is set up with the store that the ledger has now.
        } catch (const ProcessingError& error) {
            recover(error, error.action);
        } catch (const PostgresError& error) {
            recover(error, meaning_of(error));
        }
        if (processor_) processor_->abandon();
        return false;
    }

    void recover(const PostgresError& error, FailureAction action) {
        if (++failures_ > most_replay_tries) throw error;
        switch (action) {
            case FailureAction::retry: break;
            case FailureAction::reconnect: session_.end(); break;
            case FailureAction::reject:
            case FailureAction::stop: throw error;
        }
        pause(FailureSeries::usual.after(failures_, roll()));
    }

    void pause(milliseconds time) const {
        const auto end = std::chrono::steady_clock::now() + time;
        while (!stopped() && std::chrono::steady_clock::now() < end) {
            std::this_thread::sleep_for(std::min(time, milliseconds(50)));
        }
    }

    void forget() {
        processor_.reset();
        answers_.reset();
        claims_.reset();
        fences_.connection_lost();
    }

    void set_up(Connection& connection) {
        if (options_.dedup) {
            const RegisteredLedger registered =
                register_ledger(connection, topic_.ledger, options_.group, topic_.name);
            claims_ = make_claim_store(topic_.ledger, registered, std::make_shared<LogWindows>());
            make_answers(registered);
        }
        sink_.prepare(connection);
        processor_ = std::make_unique<Processor>(
            context_, topic_.reject,
            Processor::Parts{.fences = fences_,
                             .claims = claims_.get(),
                             .sink = sink_,
                             .dead_letters = *dead_letters_,
                             .answers = answers_.get()},
            [this](std::span<const FenceMove> moves) { landed(moves); });
    }

    // A result goes with its claim: without dedup there is none.
    void make_answers(const RegisteredLedger& registered) {
        const std::optional<ResultReplayOptions>& wanted = topic_.answers;
        if (!wanted) return;
        results_ =
            std::make_unique<ResultStore>(registered.ledger, registered.store, wanted->cache_bytes);
        if (!replies_ && !wanted->reply.topic.empty()) replies_ = topic_.replies();
        answers_ = std::make_unique<ResultReplay>(*wanted, context_, *results_, replies_.get());
    }

    void landed(std::span<const FenceMove> moves) {
        for (const FenceMove& move : moves) done_ += move.totals;
        failures_ = 0;
    }

    // Returns where reading continues.
    Offset take(const TopicPartition& partition) {
        // Its fence is deleted when the replay ends.
        if (!fences_.look(*session_, partition.topic, partition.partition)) {
            throw std::runtime_error("another run of this replay has finished it, or it was ended");
        }
        const FenceState state = fences_.take_over(*session_, partition.topic, partition.partition,
                                                   options_.identity, 0, [] { return true; });
        if (state.owner.empty()) {
            throw std::runtime_error(
                "the topic was made again since this replay began, or its fences were retired");
        }
        if (claims_) claims_->partitions_taken(*session_, {&partition, 1});
        return state.next_offset;
    }

    bool read(const ReplayRange& range) {
        const TopicPartition partition{topic_.name, range.partition};
        Offset position = take(partition);
        if (position >= range.end) return true;
        sampler_.open({partition, position, range.end});
        while (position < range.end && !stopped()) {
            const BatchLimits& limits = options_.worker.batch;
            RecordPage page = sampler_.page(limits.messages, limits.bytes, longest_read);
            Chunk chunk;
            LeaderEpoch leader_epoch{-1};
            for (Record& record : page.records) {
                leader_epoch = record.leader_epoch;
                take_now(intake_, std::move(record), chunk);
            }
            chunk.spans.push_back({range.partition, position, page.end, leader_epoch});
            Batch batch;
            batch.topic = topic_.name;
            append(batch, std::move(chunk));
            processor_->start(std::move(batch));
            if (!processor_->run(*session_).empty()) {
                throw std::runtime_error("another run of this replay has taken it over");
            }
            position = page.end;
            if (!options_.progress) continue;
            options_.progress(done_, earlier_ + position.raw() - range.begin.raw());
        }
        return true;
    }

    Totals totals() {
        const QueryResult row = session_->query(sql::replay_totals, {replay_.number});
        return {.applied = row.integer(0, 0),
                .duplicates = row.integer(0, 1),
                .conflicts = row.integer(0, 2),
                .dead_lettered = row.integer(0, 3),
                .skipped = row.integer(0, 4)};
    }

    const KnownReplay& replay_;
    const ReplayOptions& options_;
    const WorkerTopic& topic_;
    const BatchContext context_;
    Replayed sink_;
    std::unique_ptr<Sink> dead_letters_;
    MessageBuilder intake_;
    RangeReader sampler_;  // before what holds its records
    Fences fences_;
    ServerSession session_;
    std::unique_ptr<ClaimStore> claims_;
    std::unique_ptr<ResultStore> results_;
    std::unique_ptr<Replies> replies_;
    std::unique_ptr<ResultReplay> answers_;  // null if the topic stores no results, or past dedup
    std::unique_ptr<Processor> processor_;
    Totals done_;
    std::int64_t earlier_ = 0;  // offsets of the ranges before this one
    int failures_ = 0;
};

std::vector<ReplayRange> from_json(const nlohmann::json& list) {
    std::vector<ReplayRange> ranges;
    for (const auto& range : list) {
        ranges.push_back({Partition{range.at("partition").get<std::int32_t>()},
                          Offset{range.at("begin").get<std::int64_t>()},
                          Offset{range.at("end").get<std::int64_t>()}});
    }
    return ranges;
}

}  // namespace

nlohmann::json ranges_json(const std::vector<ReplayRange>& ranges) {
    nlohmann::json list = nlohmann::json::array();
    for (const ReplayRange& range : ranges) {
        list.push_back({{"partition", range.partition.raw()},
                        {"begin", range.begin.raw()},
                        {"end", range.end.raw()}});
    }
    return list;
}

ReplayPlan plan_replay(const ReplayRange& wanted, const LogRange& log, Offset fence) {
    ReplayPlan plan{wanted, {}};
    Offset& begin = plan.range.begin;
    Offset& end = plan.range.end;
    if (begin < std::min(log.earliest, end)) {
        const Offset lost_end = std::min(log.earliest, end);
        plan.notes.push_back(offsets_text(begin, lost_end) + " are no longer in the log");
        begin = lost_end;
    }
    if (end > std::max(fence, begin)) {
        const Offset unread = std::max(fence, begin);
        // Nothing after the log's end can be read.
        if (std::min(end, log.latest) > unread) {
            plan.notes.push_back(offsets_text(unread, std::min(end, log.latest)) +
                                 " the group has not passed yet; its workers will");
        }
        end = unread;
    }
    end = std::max(begin, end);
    return plan;
}

std::optional<KnownReplay> find_replay(Connection& connection, const ReplayRequest& request) {
    const QueryResult row = connection.query(
        sql::replay_find, Parameters{request.group, request.topic, request.description});
    if (row.rows() == 0) return std::nullopt;
    return KnownReplay{.number = row.integer(0, 0),
                       .finished = row.boolean(0, 1),
                       .ranges = from_json(nlohmann::json::parse(row.text(0, 2))),
                       .started_by = std::string(row.text(0, 3)),
                       .at = std::string(row.text(0, 4)),
                       .applied = row.integer(0, 5),
                       .ended_by = std::string(row.text(0, 6))};
}

std::string fences_of(const std::string& group, const KnownReplay& replay) {
    return group + " replay " + std::to_string(replay.number);
}

bool begin_replay(Connection& connection, const ReplayRequest& request) {
    const QueryResult fences = connection.query(
        sql::replay_begin,
        Parameters{request.group, request.topic, request.description, !request.dedup,
                   ranges_json(request.ranges).dump(), request.reason},
        {{"locks",
          replaced(std::string(sql::claims_lock_of_topic), "{schema}", connection.schema())}});
    return fences.affected() > 0;
}

void end_replay(Connection& connection, const ReplayRequest& request, const KnownReplay& replay) {
    connection.query(sql::groups_end_replay,
                     Parameters{fences_of(request.group, replay), request.topic});
}

ReplayReport run_replay(const KnownReplay& replay, const ReplayOptions& options) {
    return Replay(replay, options).run();
}

}  // namespace onceward
