#pragma once
// A connection of the server, plain or over TLS: one request after the other, each with its limits.
// For server.cc alone, as Boost's headers take half a minute to compile. All of it belongs to the
// thread of the event loop; a connection owns itself, by what it waits for.

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http.hpp>
#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "dedup/header_rules.h"
#include "gateway/problem.h"
#include "gateway/server.h"
#include "gateway/waiting_connections.h"

namespace onceward::serving {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using Tcp = asio::ip::tcp;
using TlsStream = asio::ssl::stream<Tcp::socket>;

// For an answer to leave, and for a TLS peer to say good-bye.
constexpr auto write_time = std::chrono::seconds(30);
constexpr auto handshake_time = std::chrono::seconds(10);
constexpr auto farewell_time = std::chrono::seconds(2);
constexpr auto cancel_again = std::chrono::milliseconds(100);
constexpr std::size_t read_ahead = 64 * 1024;
// Fields of a head: each costs more than the four bytes that it may be written in.
constexpr std::size_t most_fields = 256;

inline Tcp::socket& socket_of(Tcp::socket& socket) { return socket; }
inline Tcp::socket& socket_of(TlsStream& stream) { return stream.next_layer(); }

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

// An answer without a body, whatever a sink has made of it.
inline bool bodyless(int status) { return status < 200 || status == 204 || status == 304; }

class OpenConnection {
  public:
    virtual ~OpenConnection() = default;
    virtual void start() = 0;
    // No further request; closes now where none is under way.
    virtual void drain() = 0;
    // Ends, for somebody who waits for a connection: one that is idle at once, one whose request
    // has not come whole with its 408.
    virtual void give_way() = 0;
    virtual bool in_body() const = 0;
};

// What the connections of a server share; all in its thread.
struct Common {
    const HttpLimits& limits;
    const HttpServer::Handler& handler;
    asio::io_context& loop;
    std::set<OpenConnection*>& open;
    const bool& draining;
    std::function<void()> closed;
    const HttpServer::Refused& refused;
    WaitingConnections& idle;      // nothing of a request is lost with them
    WaitingConnections& incoming;  // a request that has not come whole
    const bool& crowded;           // somebody waits for a connection
};

inline std::optional<ProblemKind> problem_of(error_code error) {
    if (error == http::error::header_limit || error == http::error::buffer_overflow) {
        return ProblemKind::headers_too_large;
    }
    if (error == http::error::body_limit) return ProblemKind::body_too_large;
    // What the peer cut off needs no answer, and who only hung up even less.
    if (error == http::error::end_of_stream || error == http::error::partial_message) {
        return std::nullopt;
    }
    if (error.category() == make_error_code(http::error::bad_method).category()) {
        return ProblemKind::malformed_request;
    }
    return std::nullopt;
}

template <class Stream>
class StreamConnection final : public OpenConnection,
                               public std::enable_shared_from_this<StreamConnection<Stream>> {
  public:
    template <class... Arguments>
    StreamConnection(Common& common, Arguments&&... arguments)
        : common_(common),
          stream_(std::forward<Arguments>(arguments)...),
          deadline_(common.loop),
          buffer_(common.limits.header_bytes + read_ahead) {
        common_.open.insert(this);
    }
    ~StreamConnection() override {
        wait_as(Waiting::nothing);
        common_.open.erase(this);
        common_.closed();
    }

    void start() override {
        if constexpr (std::is_same_v<Stream, TlsStream>) {
            limit(handshake_time, Waiting::stranger);
            stream_.async_handshake(asio::ssl::stream_base::server,
                                    [self = this->shared_from_this()](error_code error) {
                                        if (!error) self->read();
                                    });
        } else {
            read();
        }
    }

    void drain() override {
        if (waiting_ == Waiting::request) close();
    }
    void give_way() override {
        if (waiting_ == Waiting::rest_of_request) return cut_off();
        wait_as(Waiting::nothing);
        close();
    }
    bool in_body() const override { return in_body_; }

  private:
    // What the deadline is for.
    enum class Waiting : std::uint8_t {
        nothing,
        request,
        rest_of_request,
        peer,
        stranger,  // a handshake, or a good-bye: nothing is lost with it
    };

    void wait_as(Waiting waiting) {
        if (waiting == waiting_) return;
        if (WaitingConnections* list = list_of(waiting_)) list->remove(since_, this);
        waiting_ = waiting;
        since_ = WaitingConnections::Clock::now();
        if (WaitingConnections* list = list_of(waiting_)) list->add(since_, this);
    }
    WaitingConnections* list_of(Waiting waiting) const {
        switch (waiting) {
            case Waiting::request:
            case Waiting::stranger: return &common_.idle;
            case Waiting::rest_of_request: return late_ ? nullptr : &common_.incoming;
            case Waiting::nothing:
            case Waiting::peer: break;
        }
        return nullptr;
    }

    void limit(std::chrono::milliseconds time, Waiting waiting) {
        wait_as(waiting);
        deadline_.expires_after(time);
        deadline_.async_wait([weak = this->weak_from_this()](error_code error) {
            if (const auto self = weak.lock(); self && !error) self->overdue();
        });
    }
    void unlimited() {
        wait_as(Waiting::nothing);
        deadline_.cancel();
    }

    void overdue() {
        // Set anew meanwhile: the one that came is an older one's.
        if (deadline_.expiry() > std::chrono::steady_clock::now()) return;
        switch (waiting_) {
            case Waiting::nothing: return;
            case Waiting::request:
            case Waiting::stranger:
            case Waiting::peer: return close();
            case Waiting::rest_of_request: return cut_off();
        }
    }

    // The read ends, and is answered with 408.
    void cut_off() {
        common_.incoming.remove(since_, this);
        late_ = true;
        error_code ignored;
        socket_of(stream_).cancel(ignored);
        // One that had its bytes just now goes on reading: it is met at its next pause.
        limit(cancel_again, Waiting::rest_of_request);
    }

    void close() {
        error_code ignored;
        socket_of(stream_).shutdown(Tcp::socket::shutdown_both, ignored);
        socket_of(stream_).close(ignored);
        deadline_.cancel();
    }

    // One request after the other. Those that a peer sends ahead wait in the kernel.
    void read() {
        if (common_.draining) return finish();
        late_ = in_body_ = false;
        parser_.emplace();
        parser_->header_limit(static_cast<std::uint32_t>(common_.limits.header_bytes));
        parser_->body_limit(common_.limits.body_bytes);
        if (buffer_.size() > 0) return read_head();
        // Idle until the first byte: only then the request's own time begins.
        limit(common_.limits.idle_time, Waiting::request);
        stream_.async_read_some(buffer_.prepare(read_ahead),
                                [self = this->shared_from_this()](error_code error, std::size_t n) {
                                    if (error) return self->close();
                                    self->buffer_.commit(n);
                                    self->read_head();
                                });
    }

    void read_head() {
        begun_ = std::chrono::steady_clock::now();
        limit(std::min(common_.limits.head_time, common_.limits.request_time),
              Waiting::rest_of_request);
        http::async_read_header(
            stream_, buffer_, *parser_,
            [self = this->shared_from_this()](error_code error, std::size_t) {
                if (error) return self->failed(error);
                self->keep_head();
                if (self->headers_.size() > most_fields) {
                    return self->write_last({.kind = ProblemKind::headers_too_large});
                }
                self->read_body();
            });
    }

    // DANGER: before the body. The parser puts the fields behind a chunked body, its trailer, among
    // those of the head: there a client could say what a proxy before us takes off, such as a
    // tenant (RFC 9110, 6.5.1).
    void keep_head() {
        headers_.clear();
        for (const auto& field : parser_->get()) {
            headers_.emplace_back(text_of(field.name_string()), text_of(field.value()));
        }
    }

    void read_body() {
        in_body_ = true;
        const auto took = std::chrono::steady_clock::now() - begun_;
        limit(std::chrono::ceil<std::chrono::milliseconds>(common_.limits.request_time - took),
              Waiting::rest_of_request);
        if (boost::beast::iequals(parser_->get()[http::field::expect], "100-continue")) {
            // The head was within its limits, and so is the length that it announced.
            continue_ = {};
            continue_.version(11);
            continue_.result(http::status::continue_);
            http::async_write(stream_, continue_,
                              [self = this->shared_from_this()](error_code error, std::size_t) {
                                  if (error) return self->failed(error);
                                  self->read_rest();
                              });
            return;
        }
        read_rest();
    }

    void read_rest() {
        http::async_read(stream_, buffer_, *parser_,
                         [self = this->shared_from_this()](error_code error, std::size_t) {
                             if (error) return self->failed(error);
                             self->handle();
                         });
    }

    void failed(error_code error) {
        if (late_) return write_last({.kind = ProblemKind::request_timeout});
        if (const auto problem = problem_of(error)) return write_last({.kind = *problem});
        close();
    }

    void write_last(const Problem& problem) {
        keep_alive_ = false;
        head_ = false;
        version_ = 11;
        HttpResponse response = to_response(problem);
        if (common_.refused) common_.refused(response.status);
        write(std::move(response));
    }

    void handle() {
        unlimited();
        http::request<http::string_body> message = parser_->release();
        keep_alive_ = message.keep_alive();
        version_ = message.version();
        head_ = message.method() == http::verb::head;
        HttpRequest request;
        request.method = text_of(message.method_string());
        request.target = text_of(message.target());
        request.headers = std::move(headers_);
        request.body = std::move(message.body());
        // DANGER: the connection goes along to its own thread. Kept here, it could end in the
        // thread that answers.
        common_.handler(std::move(request), [self = this->shared_from_this(),
                                             &loop = common_.loop](HttpResponse response) mutable {
            asio::post(loop, [self = std::move(self), response = std::move(response)]() mutable {
                self->write(std::move(response));
            });
        });
    }

    void write(HttpResponse from) {
        if (from.status < 200 || from.status > 599) from = to_response({});
        response_ = {};
        response_.version(version_);
        response_.result(static_cast<unsigned>(from.status));
        response_.set(http::field::date, date_text());
        for (const auto& [name, value] : from.headers) {
            if (fits_a_head(name, value)) response_.insert(name, value);
        }
        if (!bodyless(from.status)) response_.body() = std::move(from.body);
        keep_alive_ = keep_alive_ && !common_.draining && !common_.crowded;
        response_.keep_alive(keep_alive_);
        response_.prepare_payload();
        if (bodyless(from.status)) response_.erase(http::field::content_length);
        limit(write_time, Waiting::peer);
        const auto written = [self = this->shared_from_this()](error_code error, std::size_t) {
            if (error) return self->close();
            if (self->keep_alive_) return self->read();
            self->finish();
        };
        if (!head_) return http::async_write(stream_, response_, written);
        serializer_.emplace(response_);
        http::async_write_header(stream_, *serializer_, written);
    }

    // The peer may still be sending: closed at once, the kernel would answer that with a reset,
    // which can take the answer away from it.
    void finish() {
        limit(farewell_time, Waiting::stranger);
        if constexpr (std::is_same_v<Stream, TlsStream>) {
            stream_.async_shutdown(
                [self = this->shared_from_this()](error_code) { self->close(); });
        } else {
            error_code ignored;
            stream_.shutdown(Tcp::socket::shutdown_send, ignored);
            swallow();
        }
    }
    void swallow() {
        buffer_.consume(buffer_.size());
        socket_of(stream_).async_read_some(
            buffer_.prepare(read_ahead),
            [self = this->shared_from_this()](error_code error, std::size_t) {
                if (error) return self->close();
                self->swallow();
            });
    }

    Common& common_;
    Stream stream_;
    asio::steady_timer deadline_;
    boost::beast::flat_buffer buffer_;
    std::optional<http::request_parser<http::string_body>> parser_;
    HttpHeaders headers_;  // of the request's head
    http::response<http::empty_body> continue_;
    http::response<http::string_body> response_;
    std::optional<http::response_serializer<http::string_body>> serializer_;
    Waiting waiting_ = Waiting::nothing;
    WaitingConnections::Clock::time_point since_{};  // it waits as it does
    std::chrono::steady_clock::time_point begun_{};  // the request
    bool in_body_ = false;
    bool late_ = false;
    bool keep_alive_ = true;
    bool head_ = false;
    unsigned version_ = 11;
};

}  // namespace onceward::serving
