#pragma once
// The way to the service manager: the datagram socket that $NOTIFY_SOCKET names (sd_notify(3)).
// libsystemd's sd_notify() waits until the manager has read what was sent before; this one never
// waits. Used by one thread at a time; owns its socket. Throws nothing.

#include <chrono>
#include <string>

namespace onceward {

class ManagerSocket {
  public:
    // `address`: a path, or `@` and a name in the abstract name space. Opens nothing yet.
    explicit ManagerSocket(std::string address);
    ~ManagerSocket();
    ManagerSocket(const ManagerSocket&) = delete;
    ManagerSocket& operator=(const ManagerSocket&) = delete;
    // False if it was not taken: the manager's queue is full, or there is no manager.
    bool send(const std::string& lines);
    // Waits until it may take something again, or for `limit`.
    void wait(std::chrono::milliseconds limit) const;

  private:
    bool connected();
    void close_socket();
    std::string address_;
    int socket_ = -1;
};

}  // namespace onceward
