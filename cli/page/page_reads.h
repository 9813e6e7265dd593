#pragma once
// Answers what the page asks: from a path under /api/ to JSON. Reads PostgreSQL over a session for
// each server, which is opened when it is needed, and asks the brokers for the lag of other
// processes' partitions. Used by the page's thread alone. If one server refuses, the answer says so
// and still has the parts of the others.

#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/configuration/databases.h"
#include "cli/operator/broker_view.h"
#include "cli/page/page_memory.h"
#include "cli/page/page_request.h"
#include "cli/page/partition_view.h"
#include "cli/page/payload_json.h"
#include "dedup/postgres/connection.h"
#include "gateway/http/http.h"

namespace onceward {

HttpResponse page_answer(const nlohmann::json& json, int status = 200);

class PageReads {
  public:
    using Status = std::function<ProcessStatus()>;
    // `status` is called in the page's thread.
    PageReads(const Configuration& configuration, Status status);
    ~PageReads();

    // After a reload; the new configuration has the same servers.
    void use(const Configuration& configuration);
    // Notes what the process does now.
    void look();
    HttpResponse answer(const PageRequest& request);
    // Closes the sessions. Called when nobody asks.
    void rest();

  private:
    using Clock = std::chrono::steady_clock;
    struct Server {
        Configuration configuration;
        std::unique_ptr<Connection> connection;
    };
    // A group's totals at a time, for rates.
    struct Reading {
        Clock::time_point at;
        std::map<std::string, Totals> topics = {};
    };
    nlohmann::json overview(const PageRequest& request);
    nlohmann::json partitions(const PageRequest& request);
    nlohmann::json key(const PageRequest& request);
    nlohmann::json letters(const PageRequest& request);
    nlohmann::json letter_list(const PageRequest& request);
    nlohmann::json ledgers(const PageRequest& request);
    nlohmann::json rebalances(const PageRequest& request);
    nlohmann::json configuration(const PageRequest& request);
    nlohmann::json acts(const PageRequest& request);

    // Calls `read` with each server that answers, and adds the others to `into["problems"]`.
    using Read = std::function<void(Connection&, const Configuration&)>;
    void each_server(nlohmann::json& into, const Read& read);
    Connection& session(Server& server);
    std::vector<PartitionView> all_partitions(nlohmann::json& into);
    void ask_brokers(std::vector<PartitionView>& views);
    void add_rates(nlohmann::json& topics, const std::vector<PartitionView>& views);
    nlohmann::json process_json() const;

    Configuration configuration_;
    Status status_;
    std::vector<Server> servers_;
    PageMemory memory_;
    PayloadJson payloads_;
    std::vector<Reading> readings_;
    std::unique_ptr<BrokerView> brokers_;
    Clock::time_point brokers_again_{};
};

}  // namespace onceward
