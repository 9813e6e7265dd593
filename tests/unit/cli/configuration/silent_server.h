#pragma once
// A listening socket on 127.0.0.1 that answers nothing and knows whether anybody came.

#include <cstdint>
#include <string>

namespace onceward::test {

class SilentServer {
  public:
    SilentServer();
    ~SilentServer();
    SilentServer(const SilentServer&) = delete;
    SilentServer& operator=(const SilentServer&) = delete;
    std::string port() const { return std::to_string(port_); }
    // Whether a connection waits to be accepted; it is taken away.
    bool was_visited();

  private:
    int socket_ = -1;
    std::uint16_t port_ = 0;
};

// Connects to that port of 127.0.0.1 and closes again; for the proof that a visit would be seen.
void visit(const SilentServer& server);

}  // namespace onceward::test
