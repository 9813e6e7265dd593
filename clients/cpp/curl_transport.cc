// libcurl's easy interface: one request at a time.

#include <curl/curl.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string_view>

#include "clients/cpp/transport.h"

namespace onceward::client {
namespace {

struct FreeEasy {
    void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct FreeList {
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using List = std::unique_ptr<curl_slist, FreeList>;

void add(List& list, const std::string& line) {
    curl_slist* longer = curl_slist_append(list.get(), line.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    list.release();
    list.reset(longer);
}

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blanks = " \t\r\n";
    const auto begin = text.find_first_not_of(blanks);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

// Where there is none, libcurl would say that it is a form.
bool names_content_type(const Headers& headers) {
    return std::ranges::any_of(headers, [](const auto& header) {
        return curl_strequal(header.first.c_str(), "Content-Type") != 0;
    });
}

struct Receiving {
    Response response;
    bool head_ended = false;
};

std::size_t take_body(char* data, std::size_t, std::size_t size, void* self) {
    static_cast<Receiving*>(self)->response.body.append(data, size);
    return size;
}

std::size_t take_header(char* data, std::size_t, std::size_t size, void* self) {
    Receiving& receiving = *static_cast<Receiving*>(self);
    const std::string_view line(data, size);
    if (line.starts_with("HTTP/")) {
        // Another status line, for instance after 100 Continue: what came before was not the
        // answer.
        receiving.response.headers.clear();
        receiving.head_ended = false;
        return size;
    }
    // A field after the body, which no blank line follows here: it is not a header of the answer.
    if (receiving.head_ended) return size;
    receiving.head_ended = trimmed(line).empty();
    if (const std::size_t colon = line.find(':'); colon != std::string_view::npos) {
        receiving.response.headers.emplace_back(line.substr(0, colon),
                                                trimmed(line.substr(colon + 1)));
    }
    return size;
}

class CurlTransport final : public Transport {
  public:
    CurlTransport() {
        static std::once_flag once;
        std::call_once(once, [] {
            if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
                throw std::runtime_error("libcurl cannot be initialised");
            }
        });
        easy_.reset(curl_easy_init());
        if (!easy_) throw std::runtime_error("libcurl has no memory");
    }

    std::variant<Response, NoResponse> send(const Sending& request) override {
        curl_easy_reset(easy_.get());  // its connections stay
        Receiving receiving;
        List headers;
        for (const auto& [name, value] : request.headers) {
            // Without a value libcurl would leave the header out, and with a semicolon it sends it.
            add(headers, value.empty() ? name + ";" : name + ": " + value);
        }
        add(headers, "Expect:");  // no waiting for a word in between
        if (!names_content_type(request.headers)) add(headers, "Content-Type:");
        set(CURLOPT_URL, request.url.c_str());
        set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
        set(CURLOPT_PROTOCOLS_STR, "http,https");
        set(CURLOPT_FOLLOWLOCATION, 0L);
        set(CURLOPT_NOSIGNAL, 1L);
        set(CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout.count()));
        set(CURLOPT_HTTPHEADER, headers.get());
        set(CURLOPT_WRITEFUNCTION, &take_body);
        set(CURLOPT_WRITEDATA, static_cast<void*>(&receiving));
        set(CURLOPT_HEADERFUNCTION, &take_header);
        set(CURLOPT_HEADERDATA, static_cast<void*>(&receiving));
        if (request.method != "GET" || !request.body.empty()) {
            set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
            set(CURLOPT_POSTFIELDS, request.body.c_str());
        }
        const CURLcode code = curl_easy_perform(easy_.get());
        long status = 0;
        long sent = 0;
        curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
        curl_easy_getinfo(easy_.get(), CURLINFO_REQUEST_SIZE, &sent);
        if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL) {
            throw std::invalid_argument("no http or https address: " + request.url);
        }
        if (code != CURLE_OK) return NoResponse{curl_easy_strerror(code), sent > 0};
        // DANGER: where the head breaks off, libcurl says that all is well, and that it has no
        // body.
        if (!receiving.head_ended) return NoResponse{"the response ended within its header", true};
        receiving.response.status = static_cast<int>(status);
        return std::move(receiving.response);
    }

  private:
    template <class Value>
    void set(CURLoption option, Value value) {
        if (curl_easy_setopt(easy_.get(), option, value) != CURLE_OK) {
            throw std::runtime_error("libcurl refuses an option of a request");
        }
    }

    std::unique_ptr<CURL, FreeEasy> easy_;
};

}  // namespace

std::unique_ptr<Transport> make_curl_transport() { return std::make_unique<CurlTransport>(); }

}  // namespace onceward::client
