#pragma once
// Takes spans as OTLP in JSON, from an exporter or from a real collector after it. The receiver is
// thread-safe; its server stops with it.

#include <httplib.h>

#include <map>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <thread>
#include <vector>

#include "dedup/base/trace_context.h"

namespace onceward::kafka_tests {

struct ReceivedSpan {
    std::string trace, id, parent, name;
    int kind = 0;
    bool failed = false;
    std::map<std::string, std::string> attributes{};
    std::vector<std::string> links{};  // trace/span
    std::string service{};
};

// As OTLP writes them.
std::string id_of(const SpanId& id);
std::string id_of(const TraceId& id);

// On a port of its own, or the one that the collector sends to.
class TraceReceiver {
  public:
    TraceReceiver();
    ~TraceReceiver();
    TraceReceiver(const TraceReceiver&) = delete;

    // The real collector's, if there is one.
    std::string endpoint() const;
    std::vector<ReceivedSpan> of_trace(const std::string& trace);
    std::vector<ReceivedSpan> all();
    std::string authorization();

  private:
    void read(const nlohmann::json& body);
    void add(const nlohmann::json& span, const std::string& service);

    std::mutex mutex_;
    std::vector<ReceivedSpan> spans_;
    std::string authorization_;
    httplib::Server server_;
    int port_ = 0;
    std::thread thread_;
};

}  // namespace onceward::kafka_tests
