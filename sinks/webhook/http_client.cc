#include "sinks/webhook/http_client.h"

#include <curl/curl.h>
#include <sys/socket.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "dedup/base/expects.h"
#include "dedup/base/mutex.h"
#include "dedup/sink/http_header_rules.h"

namespace onceward {
namespace {

// All headers of an answer; those that are kept are few.
constexpr std::size_t most_header_bytes = 65'536;
// New work wakes the thread earlier, and so do libcurl's own time-outs.
constexpr int longest_poll_ms = 10'000;

template <auto end>
struct EndWith {
    void operator()(auto* one) const { end(one); }
};

void begin_libcurl() {
    static std::once_flag once;
    std::call_once(once, [] {
        if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
            throw std::runtime_error("libcurl cannot be initialised");
        }
    });
}

std::string_view trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

}  // namespace

struct HttpClient::Call {
    const HttpClientOptions* options = nullptr;
    std::uint64_t serial = 0;
    HttpCall request;  // libcurl points into it
    HttpAnswer answer;
    std::size_t header_bytes = 0;
    bool head_ended = false;
    std::size_t given = 0;  // bytes of the request's body
    std::string refused;    // the address that was not to be called
    std::unique_ptr<curl_slist, EndWith<curl_slist_free_all>> headers;
    std::unique_ptr<CURL, EndWith<curl_easy_cleanup>> easy;  // declared after what it uses

    // DANGER: check the address itself when the connection is made. A name that was checked earlier
    // may mean another address by now.
    static curl_socket_t open_socket(void* self, curlsocktype, curl_sockaddr* address) {
        Call& call = *static_cast<Call*>(self);
        const auto found = address_of(&address->addr);
        if (!found || !may_be_called(*found, call.options->allowed)) {
            call.refused = found ? to_text(*found) : "of an unknown kind";
            return CURL_SOCKET_BAD;
        }
        return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    }

    // DANGER: the body is read once and never rewound. If a connection that was kept open ends
    // without an answer, libcurl sends the request again by itself, which would be a try that
    // is not recorded. Since the body cannot be rewound, the call ends instead.
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
        // Another status line, for instance after 100 Continue: what came before was not the
        // answer.
        if (line.starts_with("HTTP/")) {
            call.answer.headers.clear();
            call.head_ended = false;
        }
        // Fields after a chunked body are not headers.
        if (call.head_ended) return size;
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
                throw std::runtime_error("libcurl refuses an option of a call");
            }
        };
        set(CURLOPT_URL, request.url.reveal().c_str());
        set(CURLOPT_PROTOCOLS_STR, "http,https");
        set(CURLOPT_FOLLOWLOCATION, 0L);
        set(CURLOPT_PROXY, "");  // no proxy, also none of the environment's
        set(CURLOPT_NOSIGNAL, 1L);
#if LIBCURL_VERSION_NUM >= 0x075700
        // Otherwise the end of a call waits for a name server that does not answer.
        set(CURLOPT_QUICK_EXIT, 1L);
#endif
        set(CURLOPT_TIMEOUT_MS, static_cast<long>(options->timeout.count()));
        set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options->connect_timeout.count()));
        set(CURLOPT_SSL_VERIFYPEER, 1L);
        set(CURLOPT_SSL_VERIFYHOST, 2L);
        if (!options->ca_file.empty()) set(CURLOPT_CAINFO, options->ca_file.c_str());
        if (!options->certificate_file.empty()) {
            set(CURLOPT_SSLCERT, options->certificate_file.c_str());
            set(CURLOPT_SSLKEY, options->key_file.c_str());
        }
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
        // A call without a body has nothing to rewind, so it gets a fresh connection.
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
        // A response that we truncated counts if its status arrived; any other must be complete.
        // DANGER: libcurl takes an answer whose head is cut off for a complete one without a body.
        const bool whole = code == CURLE_OK && head_ended;
        if (whole || (answer.too_large && status > 0)) {
            answer.status = static_cast<int>(status);
        } else {
            answer.failure = !refused.empty() ? "the address " + refused +
                                                    " is not public; name its network in "
                                                    "allow_private"
                             : code == CURLE_OK ? "the response ended within its header"
                                                : curl_easy_strerror(code);
            answer.headers.clear();
        }
        if (!whole) answer.body.clear();
    }
};

struct HttpClient::State {
    HttpClientOptions options;
    std::unique_ptr<CURLM, EndWith<curl_multi_cleanup>> multi;
    // Used by the caller: the calls that it waits for, each under a serial of its own, so that a
    // late end is never taken for the answer to another call.
    std::map<std::uint64_t, std::uint64_t> serials;  // by number
    std::uint64_t last_serial = 0;
    // Between the two threads.
    Mutex mutex;
    std::condition_variable_any ended;
    std::vector<std::unique_ptr<Call>> begun ONCEWARD_GUARDED_BY(mutex);
    std::vector<std::uint64_t> cancelled ONCEWARD_GUARDED_BY(mutex);  // serials
    std::vector<std::unique_ptr<Call>> over ONCEWARD_GUARDED_BY(mutex);
    bool stopping ONCEWARD_GUARDED_BY(mutex) = false;
    // Used only by the client's own thread. Ends before `multi` does.
    std::map<std::uint64_t, std::unique_ptr<Call>> calls;  // by serial
    std::thread thread;

    void run() {
        while (take_orders()) {
            int running = 0;
            curl_multi_perform(multi.get(), &running);
            gather();
            curl_multi_poll(multi.get(), nullptr, 0, longest_poll_ms, nullptr);
        }
        for (const auto& [serial, call] : calls) {
            curl_multi_remove_handle(multi.get(), call->easy.get());
        }
        calls.clear();
    }

    // Returns false if the thread has to end.
    bool take_orders() {
        std::vector<std::unique_ptr<Call>> to_begin;
        std::vector<std::uint64_t> to_cancel;
        {
            const MutexLock lock(mutex);
            if (stopping) return false;
            to_begin.swap(begun);
            to_cancel.swap(cancelled);
        }
        for (std::unique_ptr<Call>& call : to_begin) {
            const std::uint64_t serial = call->serial;
            if (curl_multi_add_handle(multi.get(), call->easy.get()) == CURLM_OK) {
                calls[serial] = std::move(call);
                continue;
            }
            call->answer.failure = "libcurl does not take a call";
            tell(std::move(call));
        }
        for (const std::uint64_t serial : to_cancel) drop(serial);
        return true;
    }

    void gather() {
        int left = 0;
        while (const CURLMsg* message = curl_multi_info_read(multi.get(), &left)) {
            if (message->msg != CURLMSG_DONE) continue;
            const CURLcode code = message->data.result;
            void* self = nullptr;
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &self);
            Call& call = *static_cast<Call*>(self);
            call.end(code);
            tell(drop(call.serial));
        }
    }

    std::unique_ptr<Call> drop(std::uint64_t serial) {
        const auto found = calls.find(serial);
        if (found == calls.end()) return nullptr;
        std::unique_ptr<Call> call = std::move(found->second);
        curl_multi_remove_handle(multi.get(), call->easy.get());
        calls.erase(found);
        return call;
    }

    void tell(std::unique_ptr<Call> call) {
        const MutexLock lock(mutex);
        over.push_back(std::move(call));
        ended.notify_one();
    }

    // Moves the answers that the caller still waits for.
    void take_answers(std::vector<HttpAnswer>& answers) ONCEWARD_REQUIRES(mutex) {
        for (const std::unique_ptr<Call>& call : std::exchange(over, {})) {
            const auto wanted = serials.find(call->answer.number);
            if (wanted == serials.end() || wanted->second != call->serial) continue;
            serials.erase(wanted);
            answers.push_back(std::move(call->answer));
        }
    }
};

HttpClient::HttpClient(HttpClientOptions options) : state_(std::make_unique<State>()) {
    begin_libcurl();
    state_->options = std::move(options);
    state_->multi.reset(curl_multi_init());
    if (!state_->multi) throw std::runtime_error("libcurl has no memory");
    const auto most = static_cast<long>(state_->options.concurrency);
    curl_multi_setopt(state_->multi.get(), CURLMOPT_MAXCONNECTS, most);
    state_->thread = std::thread([state = state_.get()] { state->run(); });
}

HttpClient::~HttpClient() {
    {
        const MutexLock lock(state_->mutex);
        state_->stopping = true;
    }
    curl_multi_wakeup(state_->multi.get());
    state_->thread.join();
}

void HttpClient::begin(std::uint64_t number, HttpCall request) {
    std::map<std::uint64_t, std::uint64_t>& under_way = state_->serials;
    expects(under_way.size() < state_->options.concurrency && !under_way.contains(number),
            "a call has a number of its own and finds room");
    auto call = std::make_unique<Call>();
    call->options = &state_->options;
    call->serial = ++state_->last_serial;
    call->request = std::move(request);
    call->answer.number = number;
    call->easy.reset(curl_easy_init());
    if (!call->easy) throw std::runtime_error("libcurl has no memory");
    for (const auto& [name, value] : call->request.headers) {
        // Without a value libcurl would leave the header out, and with a semicolon it sends it.
        const std::string& text = value.reveal();
        call->add_header(text.empty() ? name + ";" : name + ": " + text);
    }
    // Otherwise libcurl would send a Content-Type of its own.
    const bool typed = std::ranges::any_of(call->request.headers, [](const auto& header) {
        return same_header(header.first, "Content-Type");
    });
    if (!typed) call->add_header("Content-Type:");
    call->add_header("Expect:");  // do not wait for 100 Continue
    call->prepare();
    under_way[number] = call->serial;
    {
        const MutexLock lock(state_->mutex);
        state_->begun.push_back(std::move(call));
    }
    curl_multi_wakeup(state_->multi.get());
}

std::vector<HttpAnswer> HttpClient::wait(std::chrono::milliseconds most) {
    const auto until = std::chrono::steady_clock::now() + most;
    std::vector<HttpAnswer> answers;
    MutexLock lock(state_->mutex);
    while (true) {
        state_->take_answers(answers);
        if (!answers.empty()) return answers;
        if (state_->ended.wait_until(lock, until) == std::cv_status::timeout) break;
    }
    state_->take_answers(answers);
    return answers;
}

void HttpClient::cancel(std::uint64_t number) {
    const auto found = state_->serials.find(number);
    if (found == state_->serials.end()) return;
    {
        const MutexLock lock(state_->mutex);
        state_->cancelled.push_back(found->second);
    }
    state_->serials.erase(found);
    curl_multi_wakeup(state_->multi.get());
}

}  // namespace onceward
