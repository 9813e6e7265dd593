#include <curl/curl.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>

#include "cli/composition/gateway_options.h"

namespace onceward {
namespace {

constexpr long timeout_ms = 10'000;
constexpr std::size_t most_bytes = 1 << 20;

std::size_t take_bytes(char* data, std::size_t, std::size_t count, void* into) {
    auto& text = *static_cast<std::string*>(into);
    if (text.size() + count > most_bytes) return 0;
    text.append(data, count);
    return count;
}

std::string fetch_address(const std::string& address, const std::string& ca_file) {
    const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> handle(curl_easy_init(),
                                                                     &curl_easy_cleanup);
    if (!handle) throw std::runtime_error("libcurl cannot be initialised");
    std::string text;
    CURL* raw = handle.get();
    curl_easy_setopt(raw, CURLOPT_URL, address.c_str());
    curl_easy_setopt(raw, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(raw, CURLOPT_WRITEFUNCTION, &take_bytes);
    curl_easy_setopt(raw, CURLOPT_WRITEDATA, &text);
    curl_easy_setopt(raw, CURLOPT_TIMEOUT_MS, timeout_ms);
    curl_easy_setopt(raw, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(raw, CURLOPT_FAILONERROR, 1L);
    if (!ca_file.empty()) {
        curl_easy_setopt(raw, CURLOPT_CAINFO, ca_file.c_str());
        curl_easy_setopt(raw, CURLOPT_CAPATH, nullptr);
    }
    curl_easy_setopt(raw, CURLOPT_FOLLOWLOCATION, 0L);
    const CURLcode code = curl_easy_perform(raw);
    if (code != CURLE_OK) throw std::runtime_error(curl_easy_strerror(code));
    // Without this check a redirect's page would count as a key set that cannot be read.
    long status = 0;
    curl_easy_getinfo(raw, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200) throw std::runtime_error("it was answered with " + std::to_string(status));
    return text;
}

}  // namespace

std::optional<std::string> fetch_key_set(const std::string& place, const std::string& ca_file) {
    if (place.find("://") != std::string::npos) return fetch_address(place, ca_file);
    std::ifstream file(place, std::ios::binary);
    if (!file) throw std::runtime_error("the file cannot be read");
    return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace onceward
