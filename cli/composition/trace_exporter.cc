#include "cli/composition/trace_exporter.h"

#include <nlohmann/json.hpp>

#include "cli/configuration/traces.h"
#include "dedup/base/backoff.h"
#include "dedup/base/logging.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t spans_of_a_request = 512;
constexpr auto send_every = 100ms;  // longer loses more spans of a process that is killed
constexpr auto look_every = 100ms;  // for a stop, while an answer is waited for
constexpr int most_tries = 3;
constexpr Backoff pauses{.first = 500ms, .longest = 2s, .least = 1.0, .most = 1.5};
constexpr auto tell_every = 60s;

// OTLP's own rule (opentelemetry.io/docs/specs/otlp, "Retryable Response Codes").
bool may_pass(const HttpAnswer& answer) {
    return answer.status == 0 || answer.status == 429 ||
           (answer.status >= 502 && answer.status <= 504);
}

// A receiver may take some spans, reject others, and answer 200.
std::size_t rejected_of(const HttpAnswer& answer) {
    const auto body = nlohmann::json::parse(answer.body, nullptr, false);
    if (!body.is_object() || !body.contains("partialSuccess")) return 0;
    const auto& partial = body["partialSuccess"];
    if (!partial.is_object() || !partial.contains("rejectedSpans")) return 0;
    const auto& count = partial["rejectedSpans"];
    if (count.is_number_unsigned()) return count.get<std::size_t>();
    return count.is_string() ? number_of<std::size_t>(count.get<std::string>()).value_or(0) : 0;
}

HttpClientOptions client_options(const TraceExporterOptions& options) {
    return {.concurrency = 1,
            .timeout = options.timeout,
            .connect_timeout = options.timeout,
            // A receiver is nearly always on this machine or in its network.
            .allowed = networks_of({"0.0.0.0/0", "::/0"}),
            .ca_file = options.ca_file};
}

}  // namespace

TraceExporter::TraceExporter(TraceExporterOptions options)
    : options_(std::move(options)),
      tracer_(options_.tracer),
      client_(client_options(options_)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

TraceExporter::~TraceExporter() {
    thread_.request_stop();
    thread_.join();
}

void TraceExporter::run(const std::stop_token& stop) {
    while (!stop.stop_requested()) send(tracer_.take(spans_of_a_request, send_every, stop), stop);
    for (auto rest = tracer_.take(spans_of_a_request, 0ms, stop); !rest.empty();
         rest = tracer_.take(spans_of_a_request, 0ms, stop)) {
        send(rest, stop);
    }
}

// After a stop is requested, it has `timeout` for all that is left.
bool TraceExporter::is_late(const std::stop_token& stop) {
    if (!stop.stop_requested()) return false;
    if (!leave_by_) leave_by_ = Clock::now() + options_.timeout;
    return Clock::now() >= *leave_by_;
}

void TraceExporter::send(const std::vector<TraceSpan>& spans, const std::stop_token& stop) {
    if (spans.empty()) return;
    if (is_late(stop)) return tracer_.failed(spans.size());
    const std::string body = otlp_json(options_.resource, ONCEWARD_VERSION, spans);
    for (int tries = 1;; ++tries) {
        const HttpAnswer answer = post(body, stop);
        if (answer.status >= 200 && answer.status < 300) {
            const std::size_t rejected = std::min(rejected_of(answer), spans.size());
            tracer_.exported(spans.size() - rejected);
            tracer_.failed(rejected);
            if (rejected > 0) tell(answer);
            return;
        }
        if (!may_pass(answer) || tries == most_tries || stop.stop_requested()) {
            tracer_.failed(spans.size());
            return tell(answer);
        }
        sleep_unless(stop, pauses.after(tries, roll()));
    }
}

HttpAnswer TraceExporter::post(const std::string& body, const std::stop_token& stop) {
    HttpCall call;
    call.url = options_.url;
    call.method = "POST";
    call.headers = options_.headers;
    call.headers.emplace_back("Content-Type", "application/json");
    call.body = body;
    client_.begin(++last_call_, std::move(call));
    while (true) {
        std::vector<HttpAnswer> answers = client_.wait(look_every);
        if (!answers.empty()) return std::move(answers.front());
        if (!is_late(stop)) continue;
        client_.cancel(last_call_);
        return {.failure = "the process ends"};
    }
}

void TraceExporter::tell(const HttpAnswer& answer) {
    if (Clock::now() < next_line_) return;
    next_line_ = Clock::now() + tell_every;
    const TraceCounts counts = tracer_.counts();
    log_warning("traces.not_exported", {{"status", answer.status},
                                        {"error", answer.failure},
                                        {"failed", counts.failed},
                                        {"dropped", counts.dropped}});
}

std::unique_ptr<TraceExporter> make_trace_exporter(const Configuration& configuration) {
    const TracesConfiguration traces = with_environment(configuration.traces);
    if (!traces.problem.empty()) {
        log_warning("traces.off", {{"reason", traces.problem}});
    }
    if (traces.endpoint.empty()) return nullptr;
    TraceExporterOptions options;
    options.url = traces.endpoint;
    options.headers = traces.headers;
    options.resource = resource_of(traces, configuration.group);
    options.tracer = {.ratio = traces.sampling, .queue = traces.queue};
    options.timeout = traces.timeout;
    options.ca_file = traces.ca_file;
    const auto address = call_address(options.url);
    log_info("traces.on", {{"host", address ? address->host : ""}, {"sampling", traces.sampling}});
    return std::make_unique<TraceExporter>(std::move(options));
}

}  // namespace onceward
