#pragma once
// The place of a service manager: a socket that receives what sd_notify(3) sends. Used by one
// thread; owns the socket and its file. Failures are std::system_errors.

#include <chrono>
#include <filesystem>
#include <string>

namespace onceward::support {

class NotifySocket {
  public:
    NotifySocket();
    ~NotifySocket();
    NotifySocket(const NotifySocket&) = delete;
    NotifySocket& operator=(const NotifySocket&) = delete;
    // For $NOTIFY_SOCKET.
    std::string path() const { return path_.string(); }
    // The next message, lines without the last break; '' if none comes within `limit`.
    std::string receive(std::chrono::milliseconds limit) const;
    // Reads on until a message has this text in it. False if none has within `limit`.
    bool receives(const std::string& text, std::chrono::milliseconds limit) const;
    // Puts in messages until its queue takes no more, as of a manager that reads nothing. Returns
    // how many.
    int fill() const;

  private:
    std::filesystem::path path_;
    int socket_ = -1;
};

}  // namespace onceward::support
