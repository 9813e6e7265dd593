#include "consumer/writing/writer_session.h"

#include <unistd.h>

#include <algorithm>

#include "dedup/base/backoff.h"
#include "dedup/base/logging.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

constexpr Backoff reconnects{.first = 100ms, .longest = 5000ms, .least = 0.5};

std::string owner_name(int worker) {
    std::string host(256, '\0');
    if (gethostname(host.data(), host.size() - 1) != 0) host = "unknown";
    host.resize(host.find('\0'));
    return host + ":" + std::to_string(getpid()) + "/" + std::to_string(worker);
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
        topics_.emplace_back(options.topics[i], parts[i]);
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

}  // namespace onceward
