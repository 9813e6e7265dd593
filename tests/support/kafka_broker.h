#pragma once
// A real Kafka broker of our own (scripts/kafka/run-broker) in a temporary folder, on free ports of
// 127.0.0.1 only. It ends with the thread that started it; the destructor stops it and removes the
// folder. Used by one thread. Failures are std::runtime_errors with the tail of the broker's log.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lab/embedded/child_process.h"
#include "lab/embedded/reserved_port.h"

namespace onceward::support {

struct KafkaBrokerOptions {
    // Lines of server.properties put after ours, `name=value`.
    std::vector<std::string> properties;
    // Opens a second listener with TLS and SASL (PLAIN and SCRAM-SHA-512, user `onceward`, password
    // `sasl-secret`).
    bool secure = false;
    // The secure listener's certificate ended yesterday.
    bool expired_certificate = false;
    // Where it listens, a ReservedPort of the caller's. 0: one of its own.
    std::uint16_t port = 0;
    // Where clients are sent after the first answer: the port of a proxy in front, which must know
    // `port` before the start. 0: straight here.
    std::uint16_t advertised_port = 0;
    // One more listener, advertised as it is: with a proxy for the first one, the way of
    // who shall not be disturbed, the broker itself among them.
    bool direct = false;
    std::chrono::milliseconds start_limit{120'000};
    // Its number. From 2 on it joins the cluster of the one below, which has the controller.
    int node = 1;
    std::string cluster;
    std::uint16_t controller_port = 0;
};

class KafkaBroker {
  public:
    explicit KafkaBroker(KafkaBrokerOptions options = {});
    ~KafkaBroker();
    KafkaBroker(const KafkaBroker&) = delete;
    KafkaBroker& operator=(const KafkaBroker&) = delete;

    std::string bootstrap_servers() const { return "127.0.0.1:" + std::to_string(options_.port); }
    std::uint16_t port() const { return options_.port; }
    // The direct listener's address.
    std::string direct_bootstrap_servers() const;
    // The SASL_SSL listener's address; ca_file() has the certificate's issuer.
    std::string secure_bootstrap_servers() const;
    std::filesystem::path ca_file() const { return folder_ / "ca.pem"; }
    std::filesystem::path log() const { return folder_ / "broker.log"; }
    // The first segment of a partition's log on disk.
    std::filesystem::path segment(const std::string& topic, int partition) const {
        return folder_ / "data" / "log" / (topic + "-" + std::to_string(partition)) /
               "00000000000000000000.log";
    }

    // What others need to join it, also after its first start.
    std::string cluster() const;
    std::uint16_t controller_port() const;

    // Returns when the broker answers. Topics, offsets and the address are those of before a stop.
    void start();
    // Its two halves. The broker ends with the thread that launched it; any may wait for it.
    void launch();
    void await();
    void stop();      // SIGTERM: leaves in order
    void kill_now();  // SIGKILL
    void freeze();    // SIGSTOP: connections stay open and nothing answers
    void thaw();

  private:
    std::vector<std::string> properties() const;
    KafkaBrokerOptions options_;
    std::filesystem::path folder_;
    std::optional<ReservedPort> own_port_;  // where the caller named none
    ReservedPort controller_port_;
    ReservedPort secure_port_;
    ReservedPort direct_port_;
    std::optional<ChildProcess> process_;
};

// The broker that the tests of one executable share, with its secure listener: started by the first
// who asks, which must be the main thread.
KafkaBroker& shared_broker();

}  // namespace onceward::support
