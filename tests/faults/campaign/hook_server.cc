#include "tests/faults/campaign/hook_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "lab/embedded/socket.h"
#include "tests/faults/campaign/draws.h"
#include "tests/faults/campaign/message_source.h"
#include "tests/faults/campaign/request_clients.h"
#include "tests/faults/campaign/worker_configuration.h"

namespace onceward::campaign {
namespace {

using Clock = std::chrono::steady_clock;

constexpr milliseconds longest_look{20};
constexpr int most_failures = 3;

std::string lower(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char letter) {
        return static_cast<char>(std::tolower(letter));
    });
    return text;
}

// One header of a call, where it is one that counts.
void take_header(const std::string& name, const std::string& value, HookCall& call,
                 std::size_t& length) {
    if (name == "content-length") length = std::stoul(value);
    if (name == lower(worker_header)) call.worker = value;
    // A string of RFC 8941, in quotes.
    if (name == "idempotency-key") call.key = value.substr(1, value.size() - 2);
}

}  // namespace

std::optional<HookCall> hook_call(const std::string& bytes) {
    const std::size_t head = bytes.find("\r\n\r\n");
    if (head == std::string::npos) return std::nullopt;
    std::istringstream lines(bytes.substr(0, head));
    HookCall call;
    std::size_t length = 0;
    std::string method, path, line;
    lines >> method >> path;
    if (path.starts_with(std::string("/") + upstream_route + "/")) {
        call.request = path.substr(1);
    } else {
        call.topic = std::stoul(path.substr(1));  // "/0": the topic's number
    }
    std::getline(lines, line);
    while (std::getline(lines, line)) {
        if (line.ends_with('\r')) line.pop_back();
        const std::size_t colon = line.find(": ");
        if (colon == std::string::npos) continue;
        take_header(lower(line.substr(0, colon)), line.substr(colon + 2), call, length);
    }
    const std::size_t begin = head + 4;
    if (bytes.size() < begin + length) return std::nullopt;
    if (call.worker.empty() || call.key.empty())
        throw std::runtime_error("a call without its worker or its key: " + bytes.substr(0, head));
    call.body = bytes.substr(begin, length);
    return call;
}

int hook_outcome(std::uint64_t seed, const std::string& key) {
    Draws draws = Draws(seed).branch("outcome of " + key);
    constexpr std::array<int, 4> refusals{400, 404, 409, 422};
    return draws.permille(15) ? refusals[draws.below(refusals.size())] : 200;
}

HookAnswer hook_answer(std::uint64_t seed, const std::string& key, int number) {
    const int outcome = hook_outcome(seed, key);
    if (number > most_failures) return {.status = outcome};
    Draws draws = Draws(seed).branch("call " + std::to_string(number) + " of " + key);
    const std::uint64_t chance = draws.below(1000);
    if (chance < 20) return {.status = 503};
    if (chance < 35) return {.status = 0};
    // Nobody waits for that any longer.
    if (chance < 45) return {.status = outcome, .after = milliseconds(700)};
    // Time enough to be killed or frozen in.
    if (chance < 200) return {.status = outcome, .after = milliseconds(draws.between(20, 250))};
    return {.status = outcome};
}

struct HookServer::Peers {
    struct Peer {
        Socket socket;
        std::string received;
        std::optional<HookCall> call;
        std::int64_t at_us = 0;
        HookAnswer answer;
        Clock::time_point due;
    };
    std::uint16_t port = 0;
    Socket listener = listen_anywhere(port);
    std::vector<Peer> all;

    void wait() const {
        std::vector<pollfd> sockets{{listener.get(), POLLIN, 0}};
        auto until = Clock::now() + longest_look;
        for (const Peer& peer : all) {
            if (peer.call) {
                until = std::min(until, peer.due);
            } else {
                sockets.push_back({peer.socket.get(), POLLIN, 0});
            }
        }
        const auto left = std::chrono::ceil<milliseconds>(until - Clock::now()).count();
        poll(sockets.data(), sockets.size(), static_cast<int>(std::max<std::int64_t>(left, 0)));
    }
    void accept_all() {
        for (;;) {
            Peer peer;
            peer.socket = Socket(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
            if (!peer.socket.open()) return;
            all.push_back(std::move(peer));
        }
    }
    // Whether a whole call is there; closes what has ended before.
    static bool read(Peer& peer) {
        std::array<char, 4096> bytes{};
        for (;;) {
            const ssize_t size = recv(peer.socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
            if (size > 0) {
                peer.received.append(bytes.data(), static_cast<std::size_t>(size));
                continue;
            }
            const bool later = size < 0 && (errno == EAGAIN || errno == EINTR);
            peer.call = hook_call(peer.received);
            if (!peer.call && !later) peer.socket.close();
            return peer.call.has_value();
        }
    }
};

HookServer::HookServer(const Plan& plan, const std::filesystem::path& calls)
    : plan_(plan), file_(calls), peers_(std::make_unique<Peers>()) {
    thread_ = std::jthread([this](const std::stop_token& stop) {
        try {
            run(stop);
        } catch (const std::exception& error) {
            failure_ = error.what();
        }
    });
}

HookServer::~HookServer() = default;

int HookServer::port() const { return peers_->port; }

void HookServer::finish() {
    thread_.request_stop();
    thread_.join();
    for (std::size_t i = 0; i < peers_->all.size(); ++i) {
        if (peers_->all[i].call) write_down(i, 0);
    }
    peers_->all.clear();
    file_.close();
    if (!failure_.empty()) throw std::runtime_error("the webhooks' server: " + failure_);
}

void HookServer::run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        peers_->wait();
        peers_->accept_all();
        read_all();
        answer_due();
        std::erase_if(peers_->all, [](const Peers::Peer& peer) { return !peer.socket.open(); });
    }
}

// DANGER: all of it before anything is answered. A call that waits to be read is an older one than
// what an answer brings about.
void HookServer::read_all() {
    for (Peers::Peer& peer : peers_->all) {
        if (peer.call || !Peers::read(peer)) continue;
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        peer.at_us = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
        peer.answer = hook_answer(plan_.seed, peer.call->key, ++numbers_[peer.call->key]);
        peer.due = Clock::now() + peer.answer.after;
    }
}

void HookServer::answer_due() {
    const auto now = Clock::now();
    for (std::size_t i = 0; i < peers_->all.size(); ++i) {
        Peers::Peer& peer = peers_->all[i];
        if (!peer.call || peer.due > now) continue;
        int status = peer.answer.status;
        const std::string text = "HTTP/1.1 " + std::to_string(status) +
                                 " Told\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        if (status != 0 && send(peer.socket.get(), text.data(), text.size(), MSG_NOSIGNAL) !=
                               static_cast<ssize_t>(text.size()))
            status = 0;
        write_down(i, status);
        peer.socket.close();
    }
}

// Keys and names are plain ASCII: nothing to escape.
void HookServer::write_down(std::size_t peer, int status) {
    const Peers::Peer& told = peers_->all[peer];
    const std::string rest = R"("k":")" + told.call->key + R"(","w":")" + told.call->worker +
                             R"(","at":)" + std::to_string(told.at_us) +
                             ",\"s\":" + std::to_string(status) + "}\n";
    if (!told.call->request.empty()) {
        const bool second = told.call->body.find("\"2\"") != std::string::npos;
        file_ << R"({"q":")" << told.call->request << R"(","b":")" << (second ? 2 : 1) << R"(",)"
              << rest;
        return;
    }
    const PayloadFormat format = plan_.workload.topics.at(told.call->topic).format;
    const std::optional<std::uint64_t> id = payload_id(format, told.call->body);
    if (!id) throw std::runtime_error("a call without its message's id");
    file_ << "{\"id\":" << *id << "," << rest;
}

}  // namespace onceward::campaign
