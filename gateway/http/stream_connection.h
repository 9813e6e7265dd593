#pragma once
// A connection of the server, plain or over TLS: one request after the other, each with its limits.
// For server.cc alone, as Boost's headers take half a minute to compile. All of it belongs to the
// thread of the event loop; the operations that a connection waits for own it.

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "gateway/http/open_connection.h"
#include "gateway/http/peer.h"
#include "gateway/http/request_head.h"

namespace onceward::serving {

template <class Stream>
class StreamConnection final : public OpenConnection,
                               public std::enable_shared_from_this<StreamConnection<Stream>> {
  public:
    template <class... Arguments>
    StreamConnection(Common& common, Arguments&&... arguments)
        : common_(common),
          stream_(std::forward<Arguments>(arguments)...),
          timer_(common.loop),
          buffer_(common.limits.header_bytes + read_ahead) {
        common_.open.insert(this);
    }
    ~StreamConnection() override {
        wait_as(Waiting::nothing);
        common_.open.erase(this);
        common_.closed();
    }

    void start() override {
        address_ = address_of(socket_of(stream_));
        if constexpr (std::is_same_v<Stream, TlsStream>) {
            limit(handshake_time, Waiting::stranger);
            stream_.async_handshake(asio::ssl::stream_base::server,
                                    [self = this->shared_from_this()](error_code error) {
                                        if (error) return;
                                        self->certificate_ =
                                            verified_subject(self->stream_.native_handle());
                                        self->read();
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
        stranger,  // a handshake or a close: cutting it off loses nothing
    };

    void wait_as(Waiting waiting) {
        if (waiting == waiting_) return;
        if (WaitingConnections* list = list_of(waiting_)) list->erase({since_, this});
        waiting_ = waiting;
        since_ = std::chrono::steady_clock::now();
        if (WaitingConnections* list = list_of(waiting_)) list->emplace(since_, this);
    }
    WaitingConnections* list_of(Waiting waiting) const {
        switch (waiting) {
            case Waiting::request:
            case Waiting::stranger: return &common_.idle;
            case Waiting::rest_of_request: return late_ ? nullptr : &common_.incoming;
            case Waiting::peer: return &common_.outgoing;
            case Waiting::nothing: break;
        }
        return nullptr;
    }

    void limit(std::chrono::milliseconds time, Waiting waiting) {
        wait_as(waiting);
        deadline_ = std::chrono::steady_clock::now() + time;
        if (!timed_ || deadline_ < timer_.expiry()) set_timer();
    }
    void unlimited() { wait_as(Waiting::nothing); }

    // A deadline that moves to a later time is only stored, and the timer is set again when it
    // fires: a request has four deadlines, and each would cost a system call.
    void set_timer() {
        timed_ = true;
        timer_.expires_at(deadline_);
        timer_.async_wait([weak = this->weak_from_this()](error_code error) {
            if (const auto self = weak.lock(); self && !error) self->overdue();
        });
    }

    void overdue() {
        timed_ = false;
        if (waiting_ != Waiting::nothing && deadline_ > std::chrono::steady_clock::now()) {
            return set_timer();
        }
        switch (waiting_) {
            case Waiting::nothing: return;
            case Waiting::request:
            case Waiting::stranger:
            case Waiting::peer: return close();
            case Waiting::rest_of_request: return cut_off();
        }
    }

    // Ends the read, which is then answered with 408.
    void cut_off() {
        common_.incoming.erase({since_, this});
        late_ = true;
        error_code ignored;
        socket_of(stream_).cancel(ignored);
        // A connection that has just received bytes continues reading: it is closed at its next
        // pause.
        limit(cancel_again, Waiting::rest_of_request);
    }

    void close() {
        error_code ignored;
        socket_of(stream_).shutdown(Tcp::socket::shutdown_both, ignored);
        socket_of(stream_).close(ignored);
        timer_.cancel();
        timed_ = false;
    }

    // One request after the other. Those that a peer sends ahead wait in the kernel.
    void read() {
        if (common_.draining) return finish();
        late_ = in_body_ = false;
        parser_.emplace();
        parser_->header_limit(static_cast<std::uint32_t>(common_.limits.header_bytes));
        parser_->body_limit(common_.limits.body_bytes);
        parser_->on_chunk_header(look_at_extension_);
        // Idle until the first byte: only then the request's own time begins.
        limit(common_.limits.idle_time, Waiting::request);
        wait_for_request();
    }

    void wait_for_request() {
        // Empty lines before a request are not its first bytes (RFC 9112, 2.2).
        while (arrived().starts_with("\r\n")) buffer_.consume(2);
        if (buffer_.size() > 0) return read_head();
        read_some(&StreamConnection::wait_for_request, &StreamConnection::closed_by_peer);
    }

    // Reads what comes next, and calls one of the two functions.
    void read_some(void (StreamConnection::*then)(), void (StreamConnection::*failed)(error_code)) {
        stream_.async_read_some(
            buffer_.prepare(read_ahead),
            [self = this->shared_from_this(), then, failed](error_code error, std::size_t n) {
                if (error) return (*self.*failed)(error);
                self->buffer_.commit(n);
                (*self.*then)();
            });
    }
    void closed_by_peer(error_code) { close(); }

    std::string_view arrived() const {
        const auto bytes = buffer_.data();
        return {static_cast<const char*>(bytes.data()), bytes.size()};
    }

    void read_head() {
        begun_ = std::chrono::steady_clock::now();
        limit(std::min(common_.limits.head_time, common_.limits.request_time),
              Waiting::rest_of_request);
        scan_ = {};
        look_at_head();
    }

    void look_at_head() {
        switch (scan_.look(arrived())) {
            case HeadScan::State::refused: return write_last({.kind = scan_.problem()});
            case HeadScan::State::whole: return parse_head();
            case HeadScan::State::unfinished: break;
        }
        if (buffer_.size() >= common_.limits.header_bytes) {
            return write_last({.kind = ProblemKind::headers_too_large});
        }
        read_some(&StreamConnection::look_at_head, &StreamConnection::failed);
    }

    void parse_head() {
        buffer_.consume(scan_.begin());
        error_code error;
        buffer_.consume(parser_->put(buffer_.data(), error));
        if (error) return failed(error);
        if (!parser_->is_header_done()) {
            return write_last({.kind = ProblemKind::malformed_request});
        }
        keep_head();
        if (headers_.size() > most_fields) {
            return write_last({.kind = ProblemKind::headers_too_large});
        }
        read_body();
    }

    // DANGER: copy the head before the body is read. The parser adds the trailer of a chunked body
    // to the fields of the head: a client could set there what a proxy before us removes, such as a
    // tenant (RFC 9110, 6.5.1).
    void keep_head() {
        headers_.clear();
        const std::string target = text_of(parser_->get().target());
        TargetParts parts = parts_of_target(target).value_or(TargetParts{});
        target_ = std::move(parts.target);
        for (const auto& field : parser_->get()) {
            // An absolute address in the request line replaces the Host field.
            const bool replaced = !parts.authority.empty() && field.name() == http::field::host;
            headers_.emplace_back(text_of(field.name_string()),
                                  replaced ? parts.authority : text_of(field.value()));
        }
    }

    void read_body() {
        in_body_ = true;
        const auto took = std::chrono::steady_clock::now() - begun_;
        limit(std::chrono::ceil<std::chrono::milliseconds>(common_.limits.request_time - took),
              Waiting::rest_of_request);
        // A client of HTTP/1.0 would take a 100 for its answer (RFC 9110, 10.1.1).
        const auto& message = parser_->get();
        const auto expects = message[http::field::expect];
        if (message.version() >= 11 && boost::beast::iequals(expects, "100-continue")) {
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

    // What has come already needs no turn of the event loop. No chunked body is shorter than five
    // bytes, so that to wait for them delays none.
    // DANGER: without these five bytes, a last chunk that arrives alone, `0` and its line end,
    // fails an assertion of Beast's parser and ends the process.
    void read_rest() {
        if (parser_->chunked() && buffer_.size() < shortest_chunks) {
            return read_some(&StreamConnection::read_rest, &StreamConnection::failed);
        }
        error_code error;
        while (buffer_.size() > 0 && !parser_->is_done()) {
            buffer_.consume(parser_->put(buffer_.data(), error));
            if (error == http::error::need_more) break;
            if (error) return failed(error);
        }
        if (parser_->is_done()) return handle();
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
        HttpRequest request{.method = text_of(message.method_string()),
                            .target = std::move(target_),
                            .headers = std::move(headers_),
                            .body = std::move(message.body()),
                            .address = address_,
                            .certificate = certificate_};
        // DANGER: move the connection into the posted task. If the callback kept it, the connection
        // could be destroyed in the thread that answers.
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

    // The peer may still be sending. If we closed at once, the kernel would answer that with a
    // reset, and the peer could lose our answer.
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
        read_some(&StreamConnection::swallow, &StreamConnection::closed_by_peer);
    }

    Common& common_;
    Stream stream_;
    asio::steady_timer timer_;
    bool timed_ = false;  // the timer runs; it fires at the deadline or before
    std::chrono::steady_clock::time_point deadline_{};
    boost::beast::flat_buffer buffer_;
    std::optional<http::request_parser<http::string_body>> parser_;
    // Beast accepts a line end within the quotes of a chunk extension; other readers end there.
    std::function<void(std::uint64_t, boost::beast::string_view, error_code&)> look_at_extension_ =
        [](std::uint64_t, boost::beast::string_view extension, error_code& error) {
            if (!valid_header_value({extension.data(), extension.size()})) {
                error = http::error::bad_chunk_extension;
            }
        };
    std::string address_;      // the peer's
    std::string certificate_;  // its subject
    HeadScan scan_;
    std::string target_;
    HttpHeaders headers_;  // of the request's head
    http::response<http::empty_body> continue_;
    http::response<http::string_body> response_;
    std::optional<http::response_serializer<http::string_body>> serializer_;
    Waiting waiting_ = Waiting::nothing;
    std::chrono::steady_clock::time_point since_{};  // when waiting_ was set
    std::chrono::steady_clock::time_point begun_{};  // when the request began
    bool in_body_ = false;    // the request's head has arrived, and its body is read
    bool late_ = false;       // the request took too long: its read ends, and it gets 408
    bool keep_alive_ = true;  // another request may follow the answer
    bool head_ = false;       // the method is HEAD: the answer has no body
    unsigned version_ = 11;
};

}  // namespace onceward::serving
