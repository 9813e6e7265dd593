#include "consumer/writing/topic_setup.h"

#include <stdexcept>
#include <utility>

#include "dedup/leases/kept_answers.h"
#include "dedup/leases/lease_processor.h"
#include "dedup/ledger/make_store.h"
#include "dedup/processor.h"

namespace onceward {

void TopicSetup::prepare(WriterTopic& topic) {
    if (topic.ready) return;
    Connection& connection = session_.connection();
    const RegisteredLedger registered =
        register_ledger(connection, topic.options.ledger, options_.kafka.group, topic.options.name);
    if (registered != topic.registered) {
        // A fail-over may have lost the registration; under another number it is another ledger.
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
    if (!topic.processor) {
        topic.processor = leases ? make_lease_processor(topic) : make_processor(topic);
    }
    topic.ready = true;
}

void TopicSetup::make_answers(WriterTopic& topic) const {
    const std::optional<ResultReplayOptions>& wanted = topic.options.answers;
    const StoreKind store = topic.options.ledger.store;
    if (!wanted || (!topic.claims && store != StoreKind::lease)) return;
    topic.results =
        std::make_unique<ResultStore>(topic.registered.ledger, store, wanted->cache_bytes);
    if (!wanted->reply.topic.empty()) topic.replies = topic.options.replies();
    topic.answers = std::make_unique<ResultReplay>(
        *wanted, BatchContext{options_.kafka.group, topic.options.name}, *topic.results,
        topic.replies.get());
    if (store == StoreKind::lease) topic.kept = std::make_unique<KeptAnswers>(*topic.answers);
}

std::unique_ptr<BatchProcessor> TopicSetup::make_processor(WriterTopic& topic) {
    return std::make_unique<Processor>(
        BatchContext{options_.kafka.group, topic.options.name}, topic.options.reject,
        Processor::Parts{
            session_.fences(), topic.claims.get(), topic.sink, *dead_letters_, &activity_,
            [this] { return handoff_.overdue(); },
            [&finishing = topic.finishing](Message& message, std::pmr::memory_resource& arena) {
                finishing.finish(message, arena);
            },
            topic.answers.get()},
        [this, &topic](std::span<const FenceMove> moves) { landed_(topic, moves); });
}

std::unique_ptr<BatchProcessor> TopicSetup::make_lease_processor(WriterTopic& topic) {
    const std::string& name = topic.options.name;
    activity_.has_leases(name);
    return std::make_unique<LeaseProcessor>(
        BatchContext{options_.kafka.group, name}, topic.options.reject,
        Leases(topic.registered, topic.options.ledger.lease),
        LeaseProcessor::Parts{
            session_.fences(), *topic.sink.effects(), *dead_letters_, &activity_,
            [this] { return handoff_.overdue(); },
            [&finishing = topic.finishing](Message& message, std::pmr::memory_resource& arena) {
                finishing.finish(message, arena);
            },
            [this] { return handoff_.leaving(); }, topic.options.effect_retries, topic.kept.get(),
            [this, &name](LeaseEvent event) { activity_.told(name, event); }},
        [this, &topic](std::span<const FenceMove> moves) { landed_(topic, moves); });
}

}  // namespace onceward
