#pragma once
// What the seeds of one lane run on, one after another: a real broker and a real PostgreSQL, each
// with a proxy that only the workers go through: the campaign's own clients
// have ways of their own. Used by one thread, with which broker and server end.

#include <memory>
#include <string>
#include <vector>

#include "lab/embedded/private_postgres.h"
#include "lab/embedded/reserved_port.h"
#include "tests/faults/campaign/worker_configuration.h"
#include "tests/support/cutting_proxy.h"
#include "tests/support/kafka.h"
#include "tests/support/kafka_broker.h"

namespace onceward::campaign {

class Stage {
  public:
    // The first broker is the controller, and the workers connect to it first.
    explicit Stage(int brokers = 1);

    // What workers connect to. The password is a canary: it may stand in no log.
    Addresses addresses() const;
    const std::string& canary() const { return canary_; }
    // Undisturbed; stay the same when a standby has become the primary.
    std::string direct_bootstrap_servers() const { return broker_.direct_bootstrap_servers(); }
    std::string direct_dsn() const;

    support::Kafka& kafka() { return kafka_; }
    support::KafkaBroker& broker() { return broker_; }
    int brokers() const { return 1 + static_cast<int>(others_.size()); }
    // From 2 on.
    support::KafkaBroker& other_broker(int number) {
        return *others_.at(static_cast<std::size_t>(number) - 2);
    }
    support::CuttingProxy& kafka_proxy() { return kafka_proxy_; }
    support::CuttingProxy& postgres_proxy() { return postgres_proxy_; }
    PrivatePostgres& postgres() { return *postgres_; }

    void start_standby();
    // A number that the standby knows by now.
    std::int64_t standby_number(const std::string& sql) const;
    // From now on what commits is not on the standby. Returns when it gets nothing more.
    void stop_streaming();
    // Kills the primary, promotes the standby, and sends everybody there. Answers with how many
    // bytes of its log were lost.
    std::int64_t fail_over();
    void drop_standby() { standby_.reset(); }
    // Stops the server, copies all of its files, and starts it.
    void take_copy();
    // Kills the server and puts the copy in its place: what was committed since then is gone.
    void restore_copy();

    // Each restarts the server. Its clock is wrong by what the file says (false_clock.h).
    void use_false_clock();
    void use_true_clock();
    std::filesystem::path clock() const { return postgres_->folder() / "clock"; }

    // Everything up, nothing in the way, whatever was done to it.
    void heal();

  private:
    std::filesystem::path data() const { return postgres_->folder() / "data"; }
    std::filesystem::path copy() const { return postgres_->folder() / "copy"; }
    void drop_copy() const { std::filesystem::remove_all(copy()); }

    ReservedPort broker_port_;
    support::CuttingProxy kafka_proxy_;
    support::CuttingProxy postgres_proxy_;
    support::CuttingProxy direct_proxy_;  // follows the primary, and does nothing else
    support::KafkaBroker broker_;
    std::vector<std::unique_ptr<support::KafkaBroker>> others_;
    support::Kafka kafka_;
    std::string canary_;
    std::unique_ptr<PrivatePostgres> postgres_;
    std::unique_ptr<PrivatePostgres> standby_;
};

}  // namespace onceward::campaign
