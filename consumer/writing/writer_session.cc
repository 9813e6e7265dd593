#include "consumer/writing/writer_session.h"

#include <unistd.h>

#include <algorithm>
#include <stdexcept>

#include "dedup/base/backoff.h"
#include "dedup/base/host_name.h"
#include "dedup/base/logging.h"
#include "dedup/leases/lease_processor.h"
#include "dedup/ledger/ledger.h"
#include "dedup/processor.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

constexpr Backoff reconnects{.first = 100ms, .longest = 5000ms, .least = 0.5};

std::string owner_name(int worker) {
    const std::string host = host_name();
    return (host.empty() ? "unknown" : host) + ":" + std::to_string(getpid()) + "/" +
           std::to_string(worker);
}

}  // namespace

WriterSession::WriterSession(const WorkerOptions& options, Handoff& handoff,
                             WorkerActivity& activity, const std::vector<TopicParts>& parts)
    : options_(options),
      handoff_(handoff),
      activity_(activity),
      session_({.connection = options.postgres, .guard = options.guard}),
      fences_(options.kafka.group, owner_name(options.number)),
      watermarks_(options.kafka.group, options.watermark_every) {
    topics_.reserve(options.topics.size());
    for (std::size_t i = 0; i < options.topics.size(); ++i) {
        const auto& [sink, reading_builder, finishing_builder] = parts[i];
        topics_.push_back({options.topics[i], *sink, *reading_builder, *finishing_builder});
    }
}

WriterTopic& WriterSession::topic(const std::string& name) {
    return *std::ranges::find(topics_, name, [](const WriterTopic& t) { return t.options.name; });
}

void WriterSession::connect() {
    try {
        const int pid = session_.open().pid();
        ++number_;
        failed_ = 0;
        activity_.connected();
        log_info("postgres.connected", {{"worker", options_.number}, {"pid", pid}});
    } catch (const std::exception& error) {
        const auto pause = reconnects.after(++failed_, roll());
        activity_.failed(error.what());
        log_error(
            "postgres.unreachable",
            {{"worker", options_.number}, {"error", error.what()}, {"retry_ms", pause.count()}});
        handoff_.pause(pause);
    }
}

// DANGER: all that memory knew is forgotten with the session, and every fence is taken again before
// any batch. A COMMIT in doubt is decided by the take-over, which waits for the row's lock; nothing
// ever asks by SELECT.
void WriterSession::lost(const PostgresError& error) {
    if (!connected()) return;
    log_warning("postgres.connection_lost",
                {{"worker", options_.number}, {"error", error.summary()}});
    activity_.connection_lost(error);
    session_.end();
    fences_.connection_lost();
    watermarks_.forget();
    for (WriterTopic& topic : topics_) {
        topic.ready = false;
        if (topic.claims) topic.claims->connection_lost();
        if (topic.answers) topic.answers->connection_lost();
        if (topic.processor) topic.processor->abandon();
    }
    handoff_.with(&Assignment::retake_all);
}

void TopicSetup::prepare(WriterTopic& topic) {
    if (topic.ready) return;
    Connection& connection = session_.connection();
    const RegisteredLedger registered =
        register_ledger(connection, topic.options.ledger, options_.kafka.group, topic.options.name);
    if (registered != topic.registered) {
        // A fail-over may have lost the registration; under another number it is another ledger.
        // Or the ledger was converted: with another store it is claimed in another way.
        topic.processor.reset();
        topic.answers.reset();
        topic.claims.reset();
        topic.registered = registered;
    }
    // Read the state before the sink reads its target: a change in between is then seen later.
    topic.target = topic.sink.target_state(connection);
    topic.sink.prepare(connection);
    const bool leases = topic.options.ledger.store == StoreKind::lease;
    if (leases != (topic.sink.effects() != nullptr)) {
        throw std::invalid_argument(
            leases ? "a ledger with `store: lease` is for effects outside of PostgreSQL"
                   : "effects outside of PostgreSQL need a ledger with `store: lease`");
    }
    if (!topic.claims && topic.options.dedup && !leases) {
        topic.claims =
            topic.options.claims
                ? topic.options.claims(topic.registered)
                : make_claim_store(topic.options.ledger, topic.registered, options_.log_windows);
    }
    if (!topic.answers) make_answers(topic);
    if (!topic.processor) topic.processor = make_processor(topic);
    topic.ready = true;
}

void TopicSetup::make_answers(WriterTopic& topic) const {
    const std::optional<ResultReplayOptions>& wanted = topic.options.answers;
    const StoreKind store = topic.registered.store;
    if (!wanted || (!topic.claims && store != StoreKind::lease)) return;
    topic.results =
        std::make_unique<ResultStore>(topic.registered.ledger, store, wanted->cache_bytes);
    if (!wanted->reply.topic.empty()) topic.replies = topic.options.replies();
    topic.answers = std::make_unique<ResultReplay>(
        *wanted, BatchContext{options_.kafka.group, topic.options.name}, *topic.results,
        topic.replies.get());
}

std::unique_ptr<BatchProcessor> TopicSetup::make_processor(WriterTopic& topic) {
    const std::string& name = topic.options.name;
    const BatchContext context{options_.kafka.group, name};
    const auto overdue = [this] { return handoff_.overdue(); };
    const auto finish = [&builder = topic.finishing_builder](Message& message,
                                                             std::pmr::memory_resource& arena) {
        builder.finish(message, arena);
    };
    const auto landed = [this, &topic](std::span<const FenceMove> moves) { landed_(topic, moves); };
    const auto aged = [this, &name](const LatencyHistogram& ages) { activity_.aged(name, ages); };
    if (topic.options.ledger.store != StoreKind::lease) {
        return std::make_unique<Processor>(
            context, topic.options.reject,
            Processor::Parts{session_.fences(), topic.claims.get(), topic.sink, *dead_letters_,
                             &activity_, overdue, finish, topic.answers.get(), options_.tracer,
                             aged},
            landed);
    }
    activity_.has_leases(name);
    return std::make_unique<LeaseProcessor>(
        context, topic.options.reject, Leases(topic.registered, topic.options.ledger.lease),
        LeaseProcessor::Parts{session_.fences(), *topic.sink.effects(), *dead_letters_, &activity_,
                              overdue, finish, [this] { return handoff_.leaving(); },
                              topic.options.effect_retries, topic.answers.get(),
                              [this, &name](LeaseEvent event) { activity_.told(name, event); },
                              options_.tracer, aged},
        landed);
}

}  // namespace onceward
