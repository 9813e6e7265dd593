#pragma once
// A connection to a server on 127.0.0.1 over which a test sends bytes as it likes. Used by one
// thread; what fails is a std::runtime_error. No read waits longer than thirty seconds.

#include <cstdint>
#include <map>
#include <optional>
#include <string>

struct ssl_st;

namespace onceward::support {

struct RawResponse {
    int status = 0;
    std::map<std::string, std::string> headers;  // by their names in lower case
    std::string body;
};

class RawClient {
  public:
    enum class Over : std::uint8_t { plain, tls };
    explicit RawClient(std::uint16_t port, Over over = Over::plain);
    ~RawClient();
    RawClient(const RawClient&) = delete;
    RawClient& operator=(const RawClient&) = delete;

    void send(const std::string& bytes);
    // The next response; none if the connection ends first. `head`: it has no body, whatever its
    // length says.
    std::optional<RawResponse> receive(bool head = false);
    // Sends a request with a body and receives its answer.
    std::optional<RawResponse> ask(const std::string& method, const std::string& target,
                                   const std::string& headers = "", const std::string& body = "");
    // Whether a byte comes within that time, or the connection's end.
    bool readable(int milliseconds) const;

  private:
    std::string read_some();
    int socket_ = -1;
    ssl_st* tls_ = nullptr;
    std::string buffer_;
};

// Whether anybody listens there.
bool accepts_connections(std::uint16_t port);

}  // namespace onceward::support
