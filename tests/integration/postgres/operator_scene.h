#pragma once
// The operator's commands as processes, against a server of the tests': what they print and how
// they exit. For one test at a time; owns its schema and its files.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <nlohmann/json.hpp>
#include <sstream>

#include "consumer/produce/producer.h"
#include "dedup/ledger/ledger.h"
#include "dedup/message/digest.h"
#include "dedup/operator/interventions.h"
#include "dedup/postgres/transaction.h"
#include "lab/embedded/child_process.h"
#include "lab/kafka/mock_cluster.h"
#include "tests/support/eventually.h"
#include "tests/support/one_waits.h"
#include "tests/support/postgres.h"
#include "tests/support/unique.h"

namespace onceward::operator_tests {

using support::Database;
using support::FreshSchema;
using testing::HasSubstr;

struct Outcome {
    int exit_code = -1;
    std::string output;
    nlohmann::json json() const { return nlohmann::json::parse(output); }
    // The document at the end, after what the log says; null if there is none.
    nlohmann::json last_json() const {
        const std::size_t begin =
            std::min(output.find("{\n"), std::min(output.find("[\n"), output.size()));
        return nlohmann::json::parse(output.substr(begin), nullptr, false);
    }
};

inline Outcome onceward(std::vector<std::string> arguments) {
    const std::filesystem::path output =
        std::filesystem::path(testing::TempDir()) / support::unique_name("operator");
    arguments.insert(arguments.begin(), ONCEWARD_EXECUTABLE);
    ChildOptions options;
    options.command = std::move(arguments);
    options.output = output;
    ChildProcess process(options);
    const auto status = process.wait(std::chrono::seconds(30));
    std::ostringstream text;
    text << std::ifstream(output).rdbuf();
    std::filesystem::remove(output);
    return {status && WIFEXITED(*status) ? WEXITSTATUS(*status) : -1, text.str()};
}

// A configuration's file, for as long as this object lives.
class Configured {
  public:
    static constexpr const char* table = "    sink: {table: orders, columns: {id: /id}}\n";
    // `more`: further options of the topic, four spaces before each line.
    explicit Configured(const std::string& bootstrap_servers, const std::string& more = "",
                        const std::string& sink = table)
        : file_(std::filesystem::path(testing::TempDir()) / support::unique_name("config")) {
        std::ofstream(file_) << "group: billing\n"
                                "kafka: {bootstrap_servers: '"
                             << bootstrap_servers
                             << "'}\n"
                                "postgres: {dsn: host=nowhere}\n"
                                "topics:\n"
                                "  - name: orders\n"
                                "    format: json\n"
                                "    key: {sources: [{header: request-id}, {field: /id}], tenant: "
                                "/merchant}\n"
                             << sink << more;
    }
    ~Configured() { std::filesystem::remove(file_); }
    std::string file() const { return file_.string(); }

  private:
    std::filesystem::path file_;
};

class Operator : public testing::Test {
  protected:
    Operator() {
        Connection worker(schema_.worker());
        ledger_ = register_ledger(worker, {.name = "orders"}, "billing", "orders").ledger;
    }
    Database& database() { return schema_.database(); }
    // Under the workers' role, which is enough for all of these.
    Outcome run(std::vector<std::string> arguments) {
        for (const std::string& argument : {std::string("--dsn"), schema_.server().worker_dsn,
                                            std::string("--schema"), schema_.name()}) {
            arguments.push_back(argument);
        }
        return onceward(std::move(arguments));
    }
    // As the schema's owner, who may do what an operator may.
    Outcome run_as_owner(std::vector<std::string> arguments) {
        for (const std::string& argument : {std::string("--dsn"), schema_.server().dsn,
                                            std::string("--schema"), schema_.name()}) {
            arguments.push_back(argument);
        }
        return onceward(std::move(arguments));
    }
    void fence(int partition, std::int64_t next_offset) {
        database().execute(
            "INSERT INTO fences (consumer_group, topic, partition, incarnation, owner, owner_name, "
            "first_offset, next_offset, topic_id, watermark) VALUES ('billing', 'orders', $1, "
            "gen_random_uuid(), gen_random_uuid(), 'host', 0, $2, 'T', now())",
            {std::to_string(partition), std::to_string(next_offset)});
    }
    void claim(int generation, const std::string& digest, std::int64_t offset) {
        database().execute("INSERT INTO claims_" + std::to_string(ledger_) + "_" +
                               std::to_string(generation) +
                               " (digest, record_offset, partition, source) VALUES ($1, $2, 0, 1)",
                           {digest, std::to_string(offset)});
    }
    void rotate(int from) {
        database().execute("SELECT rotate_ledger($1, $2)",
                           {std::to_string(ledger_), std::to_string(from)});
    }
    // The outcome of a command that waits for what `locks` holds until `changes` are committed.
    Outcome beside(const std::string& locks, const std::string& changes,
                   const std::function<Outcome()>& command) {
        Connection session(schema_.owner());
        std::future<Outcome> moving;
        {
            OwnedTransaction other(session);
            other.query(locks);
            moving = std::async(std::launch::async, command);
            EXPECT_TRUE(support::one_waits_for(database(), session.pid()))
                << "it waits for nothing";
            other.query(changes);
            other.commit();
        }
        return moving.get();
    }
    std::string row(const std::string& columns) {
        return database().value("SELECT concat_ws(' ', " + columns + ") FROM fences");
    }

    FreshSchema schema_;
    int ledger_ = 0;
};

inline std::string uuid_of(std::string_view kind, std::string_view key,
                           std::string_view tenant = "") {
    return uuid_text(digest_of({"billing/orders", tenant, kind, key}));
}

}  // namespace onceward::operator_tests
