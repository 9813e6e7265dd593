#pragma once
// A schema registry in the test's own process. It has the schemas that a test gives it, and fails
// when the test asks for it. Thread-safe.

#include <atomic>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "consumer/registry/schema_cache.h"
#include "tests/support/recording_server.h"

namespace onceward::kafka_tests {

class StandInRegistry {
  public:
    // `path` such as `/schemas/ids/1`; `fields` of the answer's JSON, without braces.
    void give(const std::string& path, const std::string& fields) {
        const std::lock_guard lock(mutex_);
        schemas_[path] = "{" + fields + "}";
    }
    void give_json(int id) {
        give("/schemas/ids/" + std::to_string(id), R"("schemaType":"JSON","schema":"{}")");
    }
    // Each answer has this status from now on; 200: as it should be.
    void answer_with(int status) { status_ = status; }
    // Answers with it for this path alone.
    void answer_with(int status, const std::string& path) {
        const std::lock_guard lock(mutex_);
        statuses_[path] = status;
    }
    std::string url() const { return "http://127.0.0.1:" + std::to_string(server_.port()); }
    std::size_t asked() const { return server_.calls().size(); }

  private:
    // POST /subjects/S/versions: one version for each subject.
    support::RecordedAnswer add(const support::RecordedCall& call) {
        const std::lock_guard lock(mutex_);
        auto schema = nlohmann::json::parse(call.body);
        const int id = ++last_id_;
        schemas_["/schemas/ids/" + std::to_string(id)] = schema.dump();
        schema["id"] = id;
        schema["version"] = 1;
        schemas_[call.path + "/1"] = schema.dump();
        return {.body = R"({"id":)" + std::to_string(id) + "}"};
    }
    support::RecordedAnswer answer(const support::RecordedCall& call) {
        if (call.method == "POST") return add(call);
        const std::string& path = call.path;
        const std::lock_guard lock(mutex_);
        const auto special = statuses_.find(path);
        const int status = special == statuses_.end() ? status_.load() : special->second;
        if (status != 200) return {.status = status};
        if (path == "/schemas/types") return {.body = R"(["AVRO","JSON","PROTOBUF"])"};
        const auto found = schemas_.find(path);
        if (found != schemas_.end()) return {.body = found->second};
        return {.status = 404, .body = R"({"error_code":40403,"message":"Schema not found"})"};
    }

    std::atomic<int> status_ = 200;
    std::mutex mutex_;
    std::map<std::string, std::string> schemas_;
    std::map<std::string, int> statuses_;
    int last_id_ = 100;
    // The last one: its threads use the others.
    support::RecordingServer server_{
        [this](const support::RecordedCall& call, int) { return answer(call); }};
};

}  // namespace onceward::kafka_tests
