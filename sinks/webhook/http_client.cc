#include "sinks/webhook/http_client.h"

#include <curl/curl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <stdexcept>

#include "dedup/header_rules.h"
#include "sinks/webhook/rules.h"

namespace onceward {
namespace {

// All headers of an answer; those that are kept are few.
constexpr std::size_t most_header_bytes = 65'536;

struct FreeEasy {
    void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct FreeMulti {
    void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
struct FreeList {
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

void begin_libcurl() {
    static std::once_flag once;
    std::call_once(once, [] {
        if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
            throw std::runtime_error("libcurl cannot begin");
        }
    });
}

std::string_view trimmed(std::string_view text) {
    const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
    while (!text.empty() && blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && blank(text.back())) text.remove_suffix(1);
    return text;
}

}  // namespace

struct HttpClient::Call {
    const HttpClientOptions* options = nullptr;
    HttpCall request;  // libcurl points into it
    HttpAnswer answer;
    std::size_t header_bytes = 0;
    bool head_ended = false;
    std::size_t given = 0;  // bytes of the request's body
    std::string refused;    // the address that was not to be called
    std::unique_ptr<curl_slist, FreeList> headers;
    std::unique_ptr<CURL, FreeEasy> easy;  // behind what it uses

    // DANGER: where the connection is made, on the address itself. A name that was looked at
    // earlier may mean another address by now.
    static curl_socket_t open_socket(void* self, curlsocktype, curl_sockaddr* address) {
        Call& call = *static_cast<Call*>(self);
        const auto found = address_of(&address->addr);
        if (!found || !may_be_called(*found, call.options->allowed)) {
            call.refused = found ? to_text(*found) : "of an unknown kind";
            return CURL_SOCKET_BAD;
        }
        return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    }

    // DANGER: read once and never rewound. Where a connection that was kept open ends without an
    // answer, libcurl sends the request again by itself; that would be a try which nobody has
    // written down. Without a way back in the body the call ends instead.
    static std::size_t give_body(char* to, std::size_t size, std::size_t count, void* self) {
        Call& call = *static_cast<Call*>(self);
        const std::size_t some = call.request.body.copy(to, size * count, call.given);
        call.given += some;
        return some;
    }

    static std::size_t take_body(char* data, std::size_t, std::size_t size, void* self) {
        Call& call = *static_cast<Call*>(self);
        const auto room = static_cast<std::size_t>(call.options->answer_bytes);
        if (call.answer.body.size() + size > room) {
            call.answer.too_large = true;
            return 0;  // ends the call
        }
        call.answer.body.append(data, size);
        return size;
    }

    static std::size_t take_header(char* data, std::size_t, std::size_t size, void* self) {
        Call& call = *static_cast<Call*>(self);
        call.header_bytes += size;
        if (call.header_bytes > most_header_bytes) return 0;
        const std::string_view line(data, size);
        // Another status line, as behind 100 Continue: what came before was not the answer.
        if (line.starts_with("HTTP/")) {
            call.answer.headers.clear();
            call.head_ended = false;
        }
        if (trimmed(line).empty()) call.head_ended = true;
        const std::size_t colon = line.find(':');
        if (colon == std::string_view::npos || line.starts_with("HTTP/")) return size;
        call.answer.headers.emplace_back(trimmed(line.substr(0, colon)),
                                         trimmed(line.substr(colon + 1)));
        return size;
    }

    void prepare() {
        CURL* handle = easy.get();
        const auto set = [handle](CURLoption option, auto value) {
            if (curl_easy_setopt(handle, option, value) != CURLE_OK) {
                throw std::runtime_error("libcurl does not take an option of a call");
            }
        };
        set(CURLOPT_URL, request.url.reveal().c_str());
        set(CURLOPT_PROTOCOLS_STR, "http,https");
        set(CURLOPT_FOLLOWLOCATION, 0L);
        set(CURLOPT_PROXY, "");  // neither one of the environment's
        set(CURLOPT_NOSIGNAL, 1L);
        set(CURLOPT_TIMEOUT_MS, static_cast<long>(options->timeout.count()));
        set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options->connect_timeout.count()));
        set(CURLOPT_SSL_VERIFYPEER, 1L);
        set(CURLOPT_SSL_VERIFYHOST, 2L);
        if (!options->ca_file.empty()) set(CURLOPT_CAINFO, options->ca_file.c_str());
        set(CURLOPT_OPENSOCKETFUNCTION, &Call::open_socket);
        set(CURLOPT_OPENSOCKETDATA, static_cast<void*>(this));
        set(CURLOPT_WRITEFUNCTION, &Call::take_body);
        set(CURLOPT_WRITEDATA, static_cast<void*>(this));
        set(CURLOPT_HEADERFUNCTION, &Call::take_header);
        set(CURLOPT_HEADERDATA, static_cast<void*>(this));
        set(CURLOPT_PRIVATE, static_cast<void*>(this));
        set(CURLOPT_HTTPHEADER, headers.get());
        set(CURLOPT_POST, 1L);
        set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
        set(CURLOPT_READFUNCTION, &Call::give_body);
        set(CURLOPT_READDATA, static_cast<void*>(this));
        // Without a body there is nothing to rewind.
        const bool fresh = options->fresh_connections;
        set(CURLOPT_FRESH_CONNECT, fresh || request.body.empty() ? 1L : 0L);
        set(CURLOPT_FORBID_REUSE, fresh ? 1L : 0L);
        set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
    }

    void add_header(const std::string& line) {
        curl_slist* longer = curl_slist_append(headers.get(), line.c_str());
        if (longer == nullptr) throw std::bad_alloc();
        headers.release();
        headers.reset(longer);
    }

    void end(CURLcode code) {
        long status = 0;
        long sent = 0;
        curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
        curl_easy_getinfo(easy.get(), CURLINFO_REQUEST_SIZE, &sent);
        answer.carried = sent > 0;
        // Of what was cut off the status has come; of all else the end of the answer has to.
        // DANGER: libcurl takes an answer whose head breaks off for a whole one without a body.
        const bool whole = code == CURLE_OK && head_ended;
        if (whole || (answer.too_large && status > 0)) {
            answer.status = static_cast<int>(status);
        } else {
            answer.failure = !refused.empty()   ? "the address " + refused + " is not public"
                             : code == CURLE_OK ? "the answer's head broke off"
                                                : curl_easy_strerror(code);
            answer.headers.clear();
        }
        if (!whole) answer.body.clear();
    }
};

struct HttpClient::State {
    HttpClientOptions options;
    std::unique_ptr<CURLM, FreeMulti> multi;
    // Ends before `multi` does: see ~HttpClient().
    std::map<std::uint64_t, std::unique_ptr<Call>> calls;
};

HttpClient::HttpClient(HttpClientOptions options) : state_(std::make_unique<State>()) {
    begin_libcurl();
    state_->options = std::move(options);
    state_->multi.reset(curl_multi_init());
    if (!state_->multi) throw std::runtime_error("libcurl has no memory");
    const auto most = static_cast<long>(state_->options.concurrency);
    curl_multi_setopt(state_->multi.get(), CURLMOPT_MAXCONNECTS, most);
}

HttpClient::~HttpClient() {
    for (const auto& [number, call] : state_->calls) {
        curl_multi_remove_handle(state_->multi.get(), call->easy.get());
    }
    state_->calls.clear();
}

void HttpClient::begin(std::uint64_t number, HttpCall request) {
    auto call = std::make_unique<Call>();
    call->options = &state_->options;
    call->request = std::move(request);
    call->answer.number = number;
    call->easy.reset(curl_easy_init());
    if (!call->easy) throw std::runtime_error("libcurl has no memory");
    for (const auto& [name, value] : call->request.headers) {
        // Without a value libcurl would leave the header out, and with a semicolon it sends it.
        const std::string& text = value.reveal();
        call->add_header(text.empty() ? name + ";" : name + ": " + text);
    }
    // Else libcurl makes one up.
    const bool typed = std::ranges::any_of(call->request.headers, [](const auto& header) {
        return same_header(header.first, "Content-Type");
    });
    if (!typed) call->add_header("Content-Type:");
    call->add_header("Expect:");  // no waiting for a word in between
    call->prepare();
    if (curl_multi_add_handle(state_->multi.get(), call->easy.get()) != CURLM_OK) {
        throw std::runtime_error("libcurl does not take a call");
    }
    state_->calls[number] = std::move(call);
}

std::vector<HttpAnswer> HttpClient::wait(std::chrono::milliseconds most) {
    CURLM* multi = state_->multi.get();
    std::vector<HttpAnswer> answers;
    const auto gather = [&] {
        int running = 0;
        curl_multi_perform(multi, &running);
        int left = 0;
        while (const CURLMsg* message = curl_multi_info_read(multi, &left)) {
            if (message->msg != CURLMSG_DONE) continue;
            const CURLcode code = message->data.result;
            void* self = nullptr;
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &self);
            Call& call = *static_cast<Call*>(self);
            call.end(code);
            answers.push_back(std::move(call.answer));
            cancel(answers.back().number);
        }
    };
    gather();
    const auto until = std::chrono::steady_clock::now() + most;
    while (answers.empty()) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
        if (left.count() <= 0) break;
        curl_multi_poll(multi, nullptr, 0, static_cast<int>(left.count()), nullptr);
        gather();
    }
    return answers;
}

void HttpClient::cancel(std::uint64_t number) {
    const auto found = state_->calls.find(number);
    if (found == state_->calls.end()) return;
    curl_multi_remove_handle(state_->multi.get(), found->second->easy.get());
    state_->calls.erase(found);
}

}  // namespace onceward
