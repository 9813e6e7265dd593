// A worker that keeps balances: own_sink <bootstrap servers> <connection string> <topic> <table>.
// `onceward migrate up` has made Onceward's schema before. SIGTERM and SIGINT drain and end it.

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>

#include "balance_sink.h"
#include "consumer/worker.h"
#include "dedup/server/frozen_session_guard.h"
#include "sinks/dead_letters/dead_letter_sink.h"

using namespace onceward;

namespace {

WorkerTopic topic(const std::string& name, const std::string& table) {
    WorkerTopic topic;
    topic.name = name;
    topic.format.format = Format::json;
    topic.key.sources = *key_preset("idempotency-key");
    topic.ledger.name = "balances";
    topic.sink = [table] { return std::make_unique<BalanceSink>(table); };
    return topic;
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 5) {
        std::cerr << "own_sink <bootstrap servers> <connection string> <topic> <table>\n";
        return 64;
    }
    // Before any thread starts, so that all of them leave these signals to sigwait().
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ends, nullptr);

    WorkerOptions options;
    options.kafka.bootstrap_servers = arguments[1];
    options.kafka.group = "balances";
    options.postgres.dsn = std::string(arguments[2]);
    if (const char* schema = std::getenv("ONCEWARD_EXAMPLE_SCHEMA")) {
        options.postgres.schema = schema;
    }
    options.topics.push_back(topic(arguments[3], arguments[4]));
    options.dead_letters = [] { return std::make_unique<DeadLetterSink>(); };
    FrozenSessionGuard guard({options.postgres});
    options.guard = &guard;

    Worker worker(std::move(options));
    worker.start();
    int signal = 0;
    sigwait(&ends, &signal);
    worker.stop();
    const Totals totals = worker.status().totals;
    std::cout << "applied " << totals.applied << ", duplicates " << totals.duplicates
              << ", dead-lettered " << totals.dead_lettered << "\n";
    return EXIT_SUCCESS;
}
