#pragma once
// What the connections of a server share: their limits, the interface that the server holds them
// by, and how Boost's errors become problems. For server.cc alone, as stream_connection.h. Belongs
// to the thread of the event loop; borrows what it refers to.

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/http.hpp>
#include <ctime>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "dedup/sink/http_header_rules.h"
#include "gateway/http/problem.h"
#include "gateway/http/server.h"

namespace onceward::serving {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using Tcp = asio::ip::tcp;
using TlsStream = asio::ssl::stream<Tcp::socket>;

// The longest time to send an answer, for a TLS handshake, and for a TLS peer to close.
constexpr auto write_time = std::chrono::seconds(30);
constexpr auto handshake_time = std::chrono::seconds(10);
constexpr auto farewell_time = std::chrono::seconds(2);
constexpr auto cancel_again = std::chrono::milliseconds(100);
constexpr std::size_t read_ahead = 64 * 1024;
// The most fields of a head: a field can be written in four bytes, but takes more memory.
constexpr std::size_t most_fields = 256;
// A chunked body without data: `0`, and two line ends.
constexpr std::size_t shortest_chunks = 5;

inline Tcp::socket& socket_of(Tcp::socket& socket) { return socket; }
inline Tcp::socket& socket_of(TlsStream& stream) { return stream.next_layer(); }

// Without port and scope; '' if the peer has gone.
inline std::string address_of(const Tcp::socket& socket) {
    error_code error;
    const Tcp::endpoint peer = socket.remote_endpoint(error);
    if (error) return "";
    const std::string text = peer.address().to_string();
    return text.substr(0, text.find('%'));
}

inline std::string text_of(boost::beast::string_view view) { return {view.data(), view.size()}; }

// RFC 9110, 5.6.7.
inline std::string date_text() {
    const std::time_t seconds = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    std::array<char, 64> text{};
    const std::size_t length =
        std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
    return {text.data(), length};
}

// DANGER: a header that is longer than 64 KiB throws in the event loop, which ends the process, and
// ends it again with each replay of that answer.
inline bool fits_a_head(std::string_view name, std::string_view value) {
    constexpr std::size_t most = 65'000;
    return !name.empty() && name.size() <= most && value.size() <= most &&
           valid_header_value(value);
}

// Whether an answer of this status has no body, even if a sink has written one.
inline bool bodyless(int status) { return status < 200 || status == 204 || status == 304; }

class OpenConnection {
  public:
    virtual ~OpenConnection() = default;
    virtual void start() = 0;
    // Accepts no further request; closes at once if none is under way.
    virtual void drain() = 0;
    // Ends because a peer waits for a connection: with a 408 if its request has not arrived
    // completely, else at once.
    virtual void give_way() = 0;
    virtual bool in_body() const = 0;
};

// Connections that wait for their peer, ordered by when the wait began. The first one may give way
// to a peer that waits for a connection.
using WaitingConnections =
    std::set<std::pair<std::chrono::steady_clock::time_point, OpenConnection*>>;

// What the connections of a server share; all in its thread.
struct Common {
    const HttpLimits& limits;
    const HttpServer::Handler& handler;
    asio::io_context& loop;
    std::set<OpenConnection*>& open;
    const bool& draining;
    std::function<void()> closed;
    const HttpServer::Refused& refused;
    WaitingConnections& idle;      // closing them loses no part of a request
    WaitingConnections& incoming;  // their request is not complete yet
    WaitingConnections& outgoing;  // their peer has not taken the answer yet
    const bool& crowded;           // a peer waits for a connection
};

inline std::optional<ProblemKind> problem_of(error_code error) {
    if (error == http::error::header_limit || error == http::error::buffer_overflow) {
        return ProblemKind::headers_too_large;
    }
    if (error == http::error::body_limit) return ProblemKind::body_too_large;
    // A peer that cut its request off needs no answer, nor does a peer that only hung up.
    if (error == http::error::end_of_stream || error == http::error::partial_message) {
        return std::nullopt;
    }
    if (error.category() == make_error_code(http::error::bad_method).category()) {
        return ProblemKind::malformed_request;
    }
    return std::nullopt;
}

}  // namespace onceward::serving
