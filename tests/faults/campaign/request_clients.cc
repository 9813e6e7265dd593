#include "tests/faults/campaign/request_clients.h"

#include <array>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>

#include "tests/faults/campaign/draws.h"
#include "tests/integration/gateway/raw_client.h"
#include "tests/support/eventually.h"

namespace onceward::campaign {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using support::RawClient;
using support::RawResponse;

constexpr milliseconds before_the_next_try{25};
// One that is not told for so long is left to finish(); its client continues with others.
constexpr milliseconds patience_with_one{4000};
constexpr std::size_t asked_again = 150;
constexpr int askers_of_a_shared_key = 6;
constexpr std::array<const char*, 3> routes{function_route, table_route, upstream_route};

std::string bytes_of(const Request& request) {
    const std::string body = "{\"body\": \"" + request.body + "\"}";
    return "POST " + path_of(request.key) +
           " HTTP/1.1\r\nHost: localhost\r\nIdempotency-Key: " + request.key +
           "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

// One request on its way. However it ends, it is written down: it may have taken effect.
class Exchange {
  public:
    // Throws std::runtime_error where nobody listens; then nothing was sent.
    Exchange(RequestLog& log, const Request& request, std::uint16_t door)
        : log_(log), request_(request), connection_(door) {
        answer_.sent_us = microseconds_now();
        try {
            connection_.send(bytes_of(request));
        } catch (const std::runtime_error&) {
            broken_ = true;  // part of it may have gone
        }
    }
    ~Exchange() { log_.note(request_, answer_); }
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;

    // Whether the answer is definitive.
    bool wait(milliseconds patience) try {
        if (broken_ || !connection_.readable(static_cast<int>(patience.count()))) return false;
        const std::optional<RawResponse> response = connection_.receive();
        if (!response) return false;
        answer_ = {.status = response->status,
                   .replayed = response->headers.contains("idempotent-replayed"),
                   .body = response->body,
                   .sent_us = answer_.sent_us};
        return definitive(answer_);
    } catch (const std::exception&) {
        return false;
    }

  private:
    RequestLog& log_;
    const Request& request_;
    RawClient connection_;
    bool broken_ = false;
    RequestAnswer answer_;
};

}  // namespace

std::string path_of(const std::string& key) {
    const std::string route = key.substr(0, key.find('/'));
    return "/" + (route == upstream_route ? key : route);
}

class RequestClients::Client {
  public:
    Client(const Plan& plan, RequestClients& all, int number)
        : plan_(plan),
          all_(all),
          name_("client-" + std::to_string(number)),
          draws_(Draws(plan.seed).branch("requests of " + name_)) {}

    void run(const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            one(stop);
            pause(stop, milliseconds(draws_.between(2, 20)));
        }
    }
    // To a door of the fleet's own, without tricks.
    bool ask_once(const Request& request) {
        const auto door = draws_.below(static_cast<std::uint64_t>(plan_.fleet.processes));
        return wait_for(request, all_.doors_[door], 5000ms);
    }

  private:
    static void pause(const std::stop_token& stop, milliseconds length) {
        std::mutex mutex;
        std::unique_lock lock(mutex);
        std::condition_variable_any ended;
        ended.wait_for(lock, stop, length, [] { return false; });
    }

    void one(const std::stop_token& stop) {
        const bool shared = draws_.percent(plan_.requests.shared);
        std::string key = routes[draws_.below(routes.size())];
        if (shared) {
            const int number = all_.shared_keys_++ / askers_of_a_shared_key;
            key = routes[static_cast<std::size_t>(number) % routes.size()] +
                  std::string("/shared-") + std::to_string(number);
        } else {
            key += "/" + name_ + "-" + std::to_string(keys_.size());
        }
        const Request request{key,
                              shared && draws_.percent(plan_.requests.other_bodies) ? "2" : "1"};
        keys_.push_back(key);
        ask(request, stop);
        // What has been answered before, and another body under its key.
        if (draws_.percent(30)) ask({keys_[draws_.below(keys_.size())], "1"}, stop);
        if (draws_.percent(plan_.requests.other_bodies))
            ask({key, request.body == "1" ? "2" : "1"}, stop);
    }

    // Until it is told.
    void ask(const Request& request, const std::stop_token& stop) {
        const auto end = Clock::now() + patience_with_one;
        while (!attempt(request) && !stop.stop_requested() && Clock::now() < end)
            pause(stop, before_the_next_try);
    }

    // Whether it was told.
    bool attempt(const Request& request) {
        const std::uint64_t way = draws_.below(12);
        if (way == 0) return wait_for(request, door(), 0ms);  // it leaves as soon as it has sent
        if (way == 1) return half(request);
        if (way == 2) return two_at_once(request);
        if (way == 3) return wait_for(request, door(), milliseconds(draws_.between(2, 40)));
        return wait_for(request, door(), milliseconds(draws_.between(300, 2000)));
    }

    bool wait_for(const Request& request, std::uint16_t door, milliseconds patience) try {
        Exchange exchange(all_.log_, request, door);
        return exchange.wait(patience);
    } catch (const std::runtime_error&) {
        return false;  // nobody listens just now
    }

    // It is cut off in the middle: nothing can come of it.
    bool half(const Request& request) try {
        RawClient connection(door());
        const std::string bytes = bytes_of(request);
        connection.send(bytes.substr(0, draws_.below(bytes.size())));
        return false;
    } catch (const std::runtime_error&) {
        return false;
    }

    bool two_at_once(const Request& request) try {
        Exchange first(all_.log_, request, door());
        Exchange second(all_.log_, request, door());
        const bool told = first.wait(1000ms);
        return second.wait(1000ms) || told;
    } catch (const std::runtime_error&) {
        return false;
    }

    // Mostly one of the fleet's own; now and then one that comes and goes.
    std::uint16_t door() {
        const auto own = static_cast<std::uint64_t>(plan_.fleet.processes);
        return all_.doors_[draws_.below(draws_.percent(90) ? own : all_.doors_.size())];
    }

    const Plan& plan_;
    RequestClients& all_;
    std::string name_;
    Draws draws_;
    std::vector<std::string> keys_;
};

RequestClients::RequestClients(const Plan& plan, std::vector<std::uint16_t> doors,
                               const std::filesystem::path& list)
    : doors_(std::move(doors)), log_(list) {
    for (int number = 0; number < plan.requests.clients; ++number)
        clients_.push_back(std::make_unique<Client>(plan, *this, number));
    for (const auto& client : clients_)
        threads_.emplace_back(
            [one = client.get()](const std::stop_token& stop) { one->run(stop); });
}

RequestClients::~RequestClients() = default;

std::vector<std::string> RequestClients::finish(milliseconds limit) {
    threads_.clear();  // stopped and joined
    const auto end = Clock::now() + limit;
    std::vector<std::string> untold;
    for (const Request& request : log_.open()) {
        const auto left = std::chrono::ceil<milliseconds>(end - Clock::now());
        const bool told = support::eventually(std::max(left, milliseconds(1)),
                                              [&] { return clients_.front()->ask_once(request); });
        if (!told) untold.push_back(request.key + " with body " + request.body);
    }
    // By processes that have seen none of it.
    const std::set<Request> decided = log_.decided();
    const std::size_t stride = decided.size() / asked_again + 1;
    std::size_t place = 0;
    for (const Request& request : decided) {
        if (place++ % stride == 0) clients_.front()->ask_once(request);
    }
    log_.close();
    return untold;
}

}  // namespace onceward::campaign
