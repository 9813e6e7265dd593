#include "consumer/writer.h"

#include <unistd.h>

#include <algorithm>
#include <thread>

#include "dedup/base/logging.h"
#include "dedup/leases/kept_answers.h"
#include "dedup/ledger/make_store.h"
#include "dedup/processor.h"
#include "dedup/server/migration.h"
#include "dedup/server/server_check.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

constexpr auto idle = 200ms;  // how long the writer waits for work at most
// offset commits are advisory; each batch would only load the broker
constexpr auto offsets_every = 250ms;
constexpr std::size_t most_statements = 200;  // prepared, in a session
constexpr std::chrono::milliseconds longest_reconnect{5000};

std::string owner_name(int worker) {
    std::string host(256, '\0');
    if (gethostname(host.data(), host.size() - 1) != 0) host = "unknown";
    host.resize(host.find('\0'));
    return host + ":" + std::to_string(getpid()) + "/" + std::to_string(worker);
}

// Then it pays to look at the keys first, though what is fresh is decoded in the writer's thread.
bool nearly_all_duplicates(std::span<const FenceMove> moves) {
    Totals totals;
    for (const FenceMove& move : moves) totals += move.totals;
    return totals.duplicates > 0 && totals.duplicates * 10 >= totals.passed() * 9;
}

}  // namespace

Writer::Writer(const WorkerOptions& options, Handoff& exchange, KafkaSource& source,
               const std::vector<TopicParts>& parts, WorkerActivity& activity)
    : options_(options),
      exchange_(exchange),
      source_(source),
      activity_(activity),
      dead_letters_(options.dead_letters()),
      fences_(options.kafka.group, owner_name(options.number)),
      watermarks_(
          std::make_unique<RetentionWatermarks>(options.kafka.group, options.watermark_every)) {
    for (std::size_t i = 0; i < options.topics.size(); ++i) {
        Topic topic;
        topic.options = &options.topics[i];
        topic.sink = &parts[i].sink;
        topic.reading = &parts[i].reading;
        topic.finishing = &parts[i].finishing;
        topics_.push_back(std::move(topic));
    }
}

Writer::~Writer() {
    if (connection_ && options_.session_closed) options_.session_closed(connection_->pid());
}

Writer::Topic& Writer::find(const std::string& topic) {
    return *std::ranges::find(topics_, topic, [](const Topic& t) { return t.options->name; });
}

void Writer::run() {
    while (true) {
        if (!connection_ && !exchange_.stopping()) connect();
        look_at_pauses();
        let_go();
        const auto now = Clock::now();
        Handoff::Work work = exchange_.next_work(connection_ != nullptr, now + idle);
        switch (work.kind) {
            case Handoff::Work::Kind::stop: return;
            case Handoff::Work::Kind::none: read_on(); break;
            case Handoff::Work::Kind::take_over: take_over(work.partition); break;
            case Handoff::Work::Kind::batch:
                source_.wake();  // There is room again; a reader that found none sleeps.
                forget_old_statements();
                // That may have lost the session: all partitions are read again from their fences.
                if (connection_) process(topics_[work.topic], std::move(work.batch));
                topics_[work.topic].batch.clear();
                activity_.idle();
                exchange_.done();
                break;
        }
        if (exchange_.stopping()) continue;
        commit_offsets(false);
        tick_watermarks();
        look_after_halted();
        look_after_unreadable();
    }
}

// Each generation of a ledger brings others, and those of dropped ones would stay.
void Writer::forget_old_statements() try {
    if (connection_->prepared_statements() > most_statements) connection_->forget_prepared();
} catch (const PostgresError& error) {
    handle(error, nullptr);
}

void Writer::connect() {
    try {
        auto connection = std::make_unique<Connection>(options_.postgres);
        check_server(*connection);
        // During an upgrade workers of the older program run together with newer ones, also if they
        // lose their session meanwhile. A refused one would keep its partitions and process
        // nothing.
        require_schema_(*connection);
        connection_ = std::move(connection);
        failed_connects_ = 0;
        next_pauses_ = {};  // Before any fence is taken.
        activity_.connected();
        if (options_.session_opened) options_.session_opened(connection_->pid());
        log_info("postgres.connected", {{"worker", options_.number}, {"pid", connection_->pid()}});
    } catch (const std::exception& error) {
        const auto pause = backoff(++failed_connects_, longest_reconnect);
        activity_.failed(error.what());
        log_error(
            "postgres.unreachable",
            {{"worker", options_.number}, {"error", error.what()}, {"retry_ms", pause.count()}});
        exchange_.pause(pause);
    }
}

void Writer::prepare(Topic& topic) {
    if (topic.ready) return;
    const RegisteredLedger registered = register_ledger(*connection_, topic.options->ledger,
                                                        options_.kafka.group, topic.options->name);
    if (registered != topic.registered) {
        // A fail-over may have lost the registration; under another number it is another ledger.
        topic.processor.reset();
        topic.answers.reset();
        topic.claims.reset();
        topic.registered = registered;
    }
    // Before the look itself: what changes in between is seen as a change.
    topic.target = topic.sink->target_state(*connection_);
    topic.sink->prepare(*connection_);
    const bool leases = topic.options->ledger.store == StoreKind::lease;
    if (leases != (topic.sink->effects() != nullptr)) {
        throw std::invalid_argument(
            leases ? "a ledger with `store: lease` is for effects outside of PostgreSQL"
                   : "effects outside of PostgreSQL need a ledger with `store: lease`");
    }
    if (!topic.claims && topic.options->dedup && !leases) {
        topic.claims =
            topic.options->claims
                ? topic.options->claims(topic.registered)
                : make_claim_store(topic.options->ledger, topic.registered, options_.log_windows);
    }
    if (!topic.answers) make_answers(topic);
    if (!topic.processor) {
        topic.processor = leases ? make_lease_processor(topic) : make_processor(topic);
    }
    topic.ready = true;
}

void Writer::make_answers(Topic& topic) const {
    const std::optional<ResultReplayOptions>& wanted = topic.options->answers;
    const StoreKind store = topic.options->ledger.store;
    if (!wanted || (!topic.claims && store != StoreKind::lease)) return;
    topic.results =
        std::make_unique<ResultStore>(topic.registered.ledger, store, wanted->cache_bytes);
    if (!wanted->reply.topic.empty()) topic.replies = topic.options->replies();
    topic.answers = std::make_unique<ResultReplay>(
        *wanted, BatchContext{options_.kafka.group, topic.options->name}, *topic.results,
        topic.replies.get());
    if (store == StoreKind::lease) topic.kept = std::make_unique<KeptAnswers>(*topic.answers);
}

std::unique_ptr<BatchProcessor> Writer::make_processor(Topic& topic) {
    return std::make_unique<Processor>(
        BatchContext{options_.kafka.group, topic.options->name}, topic.options->reject,
        Processor::Parts{
            fences_, topic.claims.get(), *topic.sink, *dead_letters_, &activity_,
            [this] { return exchange_.overdue(); },
            [&intake = *topic.finishing](Message& message, std::pmr::memory_resource& arena) {
                intake.finish(message, arena);
            },
            topic.answers.get()},
        [this, &topic](std::span<const FenceMove> moves) { landed(topic, moves); });
}

std::unique_ptr<BatchProcessor> Writer::make_lease_processor(Topic& topic) {
    activity_.has_leases(topic.options->name);
    return std::make_unique<LeaseProcessor>(
        BatchContext{options_.kafka.group, topic.options->name}, topic.options->reject,
        Leases(topic.registered, topic.options->ledger.lease),
        LeaseProcessor::Parts{
            fences_, *topic.sink->effects(), *dead_letters_, &activity_,
            [this] { return exchange_.overdue(); },
            [&intake = *topic.finishing](Message& message, std::pmr::memory_resource& arena) {
                intake.finish(message, arena);
            },
            [this] { return exchange_.leaving(); }, topic.options->effect_retries, topic.kept.get(),
            [this, &topic](LeaseEvent event) { activity_.told(topic.options->name, event); }},
        [this, &topic](std::span<const FenceMove> moves) { landed(topic, moves); });
}

// Their COMMIT was answered.
void Writer::landed(Topic& topic, std::span<const FenceMove> moves) {
    const std::string& name = topic.options->name;
    exchange_.committed(name, moves);
    watermarks_->moved(name, moves);
    activity_.moved(name, moves);
    topic.reading->expect_duplicates(nearly_all_duplicates(moves));
    topic.retries = 0;
    retries_ = 0;
}

// DANGER: all that memory knew is forgotten with the session, and every fence is taken again before
// any batch. A COMMIT in doubt is decided by the take-over, which waits for the row's lock; nothing
// ever asks by SELECT.
void Writer::lose_connection(const PostgresError& error) {
    if (!connection_) return;
    log_warning("postgres.connection_lost",
                {{"worker", options_.number}, {"error", error.summary()}});
    if (options_.session_closed) options_.session_closed(connection_->pid());
    activity_.connection_lost(error);
    connection_.reset();
    fences_.connection_lost();
    watermarks_->forget();
    for (Topic& topic : topics_) {
        topic.ready = false;
        if (topic.claims) topic.claims->connection_lost();
        if (topic.answers) topic.answers->connection_lost();
        if (topic.processor) topic.processor->abandon();
    }
    exchange_.with([](Assignment& assignment) { assignment.retake_all(); });
}

void Writer::process(Topic& topic, Batch batch) {
    topic.batch = batch.spans;
    topic.processor->start(std::move(batch));
    while (!topic.processor->idle()) {
        const auto begun = Clock::now();
        try {
            const std::set<Partition> missed = topic.processor->run(*connection_);
            for (const Partition partition : missed) miss({topic.options->name, partition});
        } catch (const ProcessingError& error) {
            if (!recover(topic, error, begun)) return;
        } catch (const MessageWaits& waits) {
            wait_for(topic, waits);
        } catch (const TopicHalted& halted) {
            topic.processor->abandon();
            log_error("topic.halted", {{"topic", topic.options->name},
                                       {"partition", halted.partition.raw()},
                                       {"offset", halted.offset.raw()}});
            stop_topic(topic, halted.what(), options_.first_retry);
            return;
        } catch (const std::exception& error) {
            // A sink that does not fit, or one of the user's own that failed: never the whole
            // worker.
            refused(topic, error.what());
            return;
        }
    }
}

void Writer::miss(const TopicPartition& partition) {
    fences_.drop(partition.topic, partition.partition);
    log_warning("fence.missed",
                {{"topic", partition.topic}, {"partition", partition.partition.raw()}});
    exchange_.with(
        [&](Assignment& assignment) { assignment.missed(partition, Clock::now(), jitter()); });
}

// Forgets what belonged to partitions that have left.
void Writer::let_go() {
    for (const TopicPartition& partition : exchange_.take_left()) {
        fences_.drop(partition.topic, partition.partition);
        Topic& topic = find(partition.topic);
        if (topic.claims) topic.claims->partitions_lost({&partition, 1});
    }
}

// While there is nothing to do a ledger's log is followed, so that the next message does not wait
// for a long catch-up.
void Writer::read_on() {
    for (Topic& topic : topics_) {
        if (!connection_) return;
        if (!topic.ready || !topic.claims) continue;
        try {
            topic.claims->catch_up(*connection_);
        } catch (const PostgresError& error) {
            handle(error, &topic);
        }
    }
}

void Writer::tick_watermarks() {
    if (!connection_) return;
    try {
        const RetentionWatermarks::Found found =
            watermarks_->tick(*connection_, exchange_, source_, fences_);
        if (found.missed) miss(*found.missed);
        if (found.listed) check_partitions(find(found.listed->topic), found.listed->partitions);
        if (const auto& changed = found.other_log) {
            Topic& topic = find(changed->topic);
            const LogIdentity before = topic.identity;
            topic.identity = changed->identity;
            stop_for_other_log(topic, before);
        }
    } catch (const PostgresError& error) {
        handle(error, nullptr);
    }
}

void Writer::commit_offsets(bool wait) {
    const auto now = Clock::now();
    if (now < next_offsets_) return;
    next_offsets_ = now + offsets_every;
    const std::vector<CommittedOffset> offsets = exchange_.take_offsets();
    // DANGER: only what a COMMIT was answered for is in this list.
    source_.commit_through(offsets, wait);
    if (!offsets.empty()) reached(options_.observer, Step::after_offset);
}

}  // namespace onceward
