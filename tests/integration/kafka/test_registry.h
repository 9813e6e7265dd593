#pragma once
// The registry that a test registers schemas in: one in this process, or the real one whose address
// (and process, to stop it) `make registry-test` gives. Used by the test's thread.

#include <gtest/gtest.h>
#include <httplib.h>

#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/configuration/configuration.h"
#include "tests/integration/kafka/stand_in_registry.h"

namespace onceward::kafka_tests {

class TestRegistry {
  public:
    TestRegistry() {
        const char* given = std::getenv("ONCEWARD_TEST_REGISTRY");
        const char* process = std::getenv("ONCEWARD_TEST_REGISTRY_PID");
        configuration_.name = "main";
        configuration_.urls = {given != nullptr ? std::string(given) : stand_in_.url()};
        if (given != nullptr && process != nullptr) process_ = std::atoi(process);
    }
    ~TestRegistry() { resume(); }
    TestRegistry(const TestRegistry&) = delete;
    TestRegistry& operator=(const TestRegistry&) = delete;

    const RegistryConfiguration& configuration() const { return configuration_; }

    // Registers a schema; its id.
    int add(const std::string& subject, const std::string& type, const std::string& text,
            const nlohmann::json& references = nlohmann::json::array()) const {
        nlohmann::json body{{"schema", text}};
        if (type != "AVRO") body["schemaType"] = type;
        if (!references.empty()) body["references"] = references;
        const std::string& address = configuration_.urls[0];
        const std::size_t path = address.find('/', std::string("http://").size());
        httplib::Client client(address.substr(0, path));
        const std::string prefix = path == std::string::npos ? "" : address.substr(path);
        const auto response = client.Post(prefix + "/subjects/" + subject + "/versions",
                                          body.dump(), "application/json");
        if (!response || response->status != 200) {
            ADD_FAILURE() << (response ? response->body : "no answer");
            return 0;
        }
        return nlohmann::json::parse(response->body).at("id").get<int>();
    }

    // Nothing is answered from now on: a real registry's process stands still, which keeps its
    // schemas, and the one in this process answers 503.
    void stop() {
        if (process_ > 0) ::kill(process_, SIGSTOP);
        stand_in_.answer_with(503);
    }
    void resume() {
        if (process_ > 0) ::kill(process_, SIGCONT);
        stand_in_.answer_with(200);
    }

  private:
    StandInRegistry stand_in_;
    RegistryConfiguration configuration_;
    pid_t process_ = 0;
};

}  // namespace onceward::kafka_tests
