#pragma once
// Sends spans to an OpenTelemetry receiver: OTLP over HTTP, in JSON, from a thread of its own.
// Nothing waits for it: while the receiver is slow or away its tracer's queue fills, and what finds
// no room is dropped and counted. Failures are logged once a minute. tracer() is thread-safe; it
// outlives what records spans. The end sends what is left, for `timeout` at most. Throws
// std::runtime_error if libcurl cannot start.

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/configuration/configuration.h"
#include "dedup/trace/tracer.h"
#include "sinks/webhook/http_client.h"

namespace onceward {

struct TraceExporterOptions {
    std::string url;  // with its path
    std::vector<std::pair<std::string, Secret>> headers{};
    Resource resource{};
    TracerOptions tracer{};
    // The longest time for a request, and for the end. A shorter one gives up a slow receiver
    // sooner.
    std::chrono::milliseconds timeout{5'000};
    std::string ca_file{};  // '': the system's
};

class TraceExporter {
  public:
    explicit TraceExporter(TraceExporterOptions options);
    ~TraceExporter();
    Tracer& tracer() { return tracer_; }

  private:
    using Clock = std::chrono::steady_clock;
    void run(const std::stop_token& stop);
    void send(const std::vector<TraceSpan>& spans, const std::stop_token& stop);
    HttpAnswer post(const std::string& body, const std::stop_token& stop);
    bool is_late(const std::stop_token& stop);
    void tell(const HttpAnswer& answer);

    const TraceExporterOptions options_;
    Tracer tracer_;
    // The thread's own:
    HttpClient client_;
    std::uint64_t last_call_ = 0;
    std::optional<Clock::time_point> leave_by_;  // once it is to stop
    Clock::time_point next_line_{};
    std::jthread thread_;  // the last member: it uses the others
};

// By the file, and by OpenTelemetry's variables for what it does not set; null if traces are off.
std::unique_ptr<TraceExporter> make_trace_exporter(const Configuration& configuration);

// Null if traces are off.
inline Tracer* tracer_of(const std::unique_ptr<TraceExporter>& exporter) {
    return exporter ? &exporter->tracer() : nullptr;
}

}  // namespace onceward
