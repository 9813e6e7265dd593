#pragma once
// A TCP proxy on 127.0.0.1 that breaks connections where a test wants them broken: at a byte, at a
// COMMIT, all at once, or not at all but with nothing going through. For PostgreSQL (without TLS)
// and for Kafka (see KafkaBrokerOptions::advertised_port), whose answers it may change; anything
// else goes through as plain bytes.
// Runs a thread of its own; every method is thread-safe and takes effect at once.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tests/support/kafka_answers.h"

namespace onceward::support {

// What becomes of one COMMIT and of its connection.
enum class CommitFault : std::uint8_t {
    none,
    cut_before,          // the server never sees it: rolled back
    cut_inside_request,  // the server gets half of it: rolled back
    cut_after,           // the server gets it, the client no answer: committed
    cut_inside_answer,   // the client gets half of the answer: committed
    hole_before,         // nothing arrives and nothing breaks, until cut_all()
    hole_after,          // it takes effect, the answer never comes, and nothing breaks
};

struct ProxiedCommit {
    std::uint64_t number = 0;  // from 1 on, over all connections
    std::string application_name;
};

class CuttingProxy {
  public:
    enum class Protocol : std::uint8_t { postgres, kafka, bytes };
    enum class Direction : std::uint8_t { to_server, to_client };

    // Listens at once; connections wait until there is a target.
    explicit CuttingProxy(Protocol protocol, std::uint16_t target_port = 0);
    ~CuttingProxy();
    CuttingProxy(const CuttingProxy&) = delete;
    CuttingProxy& operator=(const CuttingProxy&) = delete;

    std::uint16_t port() const;
    // libpq's connection string of the target, changed so that it leads through here, without TLS.
    std::string through(const std::string& dsn) const;
    // Where new connections go.
    void set_target(std::uint16_t port);
    // Asked for each COMMIT, on the proxy's thread. An empty function: all of them pass.
    void on_commit(std::function<CommitFault(const ProxiedCommit&)> rule);
    // The same for each answer of Kafka's group protocol: with which error code it arrives.
    void on_answer(AnswerRule rule);
    // Connections that begin from now on are cut when that many bytes of a direction went through.
    void cut_at(Direction direction, std::uint64_t bytes);
    void cut_nowhere();
    // Each piece arrives that much later.
    void delay(std::chrono::milliseconds latency);
    // At most so many bytes a second of each connection and direction. 0: as fast as they come.
    void limit(std::uint64_t bytes_a_second);
    // Connections are accepted, nothing goes through, nothing is reset; false lets all of it
    // continue.
    void black_hole(bool on);
    // What clients say goes through, and nothing of what the server answers; false lets that
    // continue.
    void hold_answers(bool on);
    // New connections are closed at once.
    void refuse(bool on);
    // New connections hear another process id than the server's, as with a pooler.
    void answer_with_own_process_id(bool on);
    // Ends every connection now.
    void cut_all();

    std::uint64_t commits() const;      // that arrived
    std::uint64_t cuts() const;         // connections that we ended
    std::uint64_t byte_cuts() const;    // of those, at their n-th byte
    std::uint64_t connections() const;  // that were ever accepted
    std::uint64_t bytes() const;        // that were read, of both directions

  private:
    class Engine;
    std::unique_ptr<Engine> engine_;
};

// A proxy before a PostgreSQL that does `armed` to the next COMMIT, and is then armed no more.
struct CommitTrap {
    explicit CommitTrap(std::uint16_t target_port)
        : proxy(CuttingProxy::Protocol::postgres, target_port) {
        proxy.on_commit([this](const ProxiedCommit&) { return armed.exchange(CommitFault::none); });
    }
    std::atomic<CommitFault> armed{CommitFault::none};
    CuttingProxy proxy;
};

}  // namespace onceward::support
