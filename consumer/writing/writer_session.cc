#include "consumer/writing/writer_session.h"

#include <unistd.h>

#include <algorithm>

#include "dedup/base/backoff.h"
#include "dedup/base/logging.h"
#include "dedup/server/server_check.h"

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
      fences_(options.kafka.group, owner_name(options.number)),
      watermarks_(options.kafka.group, options.watermark_every) {
    topics_.reserve(options.topics.size());
    for (std::size_t i = 0; i < options.topics.size(); ++i) {
        topics_.emplace_back(options.topics[i], parts[i]);
    }
}

WriterSession::~WriterSession() {
    if (connection_ && options_.session_closed) options_.session_closed(connection_->pid());
}

WriterTopic& WriterSession::topic(const std::string& name) {
    return *std::ranges::find(topics_, name, [](const WriterTopic& t) { return t.options.name; });
}

void WriterSession::connect() {
    try {
        auto connection = std::make_unique<Connection>(options_.postgres);
        check_server(*connection);
        // During an upgrade workers of the older program run together with newer ones, also if they
        // lose their session meanwhile. A refused one would keep its partitions and process
        // nothing.
        require_schema_(*connection);
        connection_ = std::move(connection);
        ++number_;
        failed_ = 0;
        activity_.connected();
        if (options_.session_opened) options_.session_opened(connection_->pid());
        log_info("postgres.connected", {{"worker", options_.number}, {"pid", connection_->pid()}});
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
    if (!connection_) return;
    log_warning("postgres.connection_lost",
                {{"worker", options_.number}, {"error", error.summary()}});
    if (options_.session_closed) options_.session_closed(connection_->pid());
    activity_.connection_lost(error);
    connection_.reset();
    fences_.connection_lost();
    watermarks_.forget();
    for (WriterTopic& topic : topics_) {
        topic.ready = false;
        if (topic.claims) topic.claims->connection_lost();
        if (topic.answers) topic.answers->connection_lost();
        if (topic.processor) topic.processor->abandon();
    }
    handoff_.with([](Assignment& assignment) { assignment.retake_all(); });
}

}  // namespace onceward
