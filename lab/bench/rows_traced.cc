// The row of what observes a worker, traces and metrics: 17.

#include "cli/composition/trace_exporter.h"
#include "gateway/http/server.h"
#include "lab/bench/bench.h"
#include "lab/bench/format.h"

namespace onceward::bench {
namespace {

constexpr double share = 0.01;

// Takes spans and forgets them, in a thread of this process: it costs both cores something, as an
// agent on the same machine does.
class Receiver {
  public:
    Receiver()
        : server_(options(), [](HttpRequest, const HttpServer::Answer& answer) {
              answer({.status = 200, .headers = {}, .body = "{}"});
          }) {
        server_.start();
    }
    std::string url() const {
        return "http://127.0.0.1:" + std::to_string(server_.port()) + "/v1/traces";
    }

  private:
    static ServerOptions options() {
        ServerOptions options;
        options.port = 0;
        options.limits.body_bytes = 64 * 1024 * 1024;
        return options;
    }
    HttpServer server_;
};

}  // namespace

RowResult Bench::traced() {
    const Receiver receiver;
    TraceExporterOptions options;
    options.url = receiver.url();
    options.resource = {{"service.name", "onceward-bench"}};
    options.tracer.ratio = share;
    TraceExporter exporter(std::move(options));
    Plan with = plan(Claims::log);
    with.tracer = &exporter.tracer();
    with.scrape_every = std::chrono::seconds(5);
    std::vector<Side> sides{consumed(plain(), with), consumed(plain(), plan(Claims::log))};
    sides[0].name += ", traces and scrapes";
    const auto runs = in_turn(sides);
    RowResult result =
        begin("17", consumed_setting() +
                        ", no duplicates, one worker; 1 % of the messages begin a trace, and "
                        "a receiver in the same process takes the spans; `/metrics` is asked "
                        "when the clock starts and every 5 s, the group's totals included");
    result.outcomes.push_back({targets_of("17").front(), ratio(rates(runs[0]), rates(runs[1]))});
    result.lines = {line(sides[0].name, runs[0]), line(sides[1].name, runs[1])};
    std::int64_t scrapes = 0;
    for (const Measurement& run : runs[0]) scrapes += run.scrapes;
    result.notes.push_back(grouped(scrapes) + " scrapes in all runs");
    const TraceCounts counts = exporter.tracer().counts();
    result.notes.push_back(grouped(counts.exported + counts.waiting) + " spans were sent, " +
                           grouped(counts.dropped) + " found no room and " +
                           grouped(counts.failed) + " were not taken");
    return result;
}

}  // namespace onceward::bench
