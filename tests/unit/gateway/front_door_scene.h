#pragma once
// A front door without a server: what it hands on is kept, and answered as the test says. For one
// test at a time.

#include <gmock/gmock.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gateway/front_door.h"

namespace onceward {

// Keeps what it gets, and answers as the test says.
struct FakeTopics final : TopicWriter {
    void produce(TopicRecord record, Done done) override {
        records.push_back(std::move(record));
        done(fate);
    }
    std::vector<TopicRecord> records;
    EventFate fate = EventFate::taken;
};

struct FakeSinks final : RequestTarget {
    void submit(std::vector<KeyedRequest> together, Then then) override {
        for (std::size_t place = 0; place < together.size(); ++place) {
            requests.push_back(std::move(together[place]));
        }
        if (holds) {
            held.push_back(std::move(then));
            return;
        }
        for (std::size_t place = together.size(); place-- > 0;) then(place, outcome);
    }
    // For requests with one part.
    void answer_held() {
        for (const Then& then : std::exchange(held, {})) then(0, outcome);
    }
    bool holds = false;  // what comes waits for answer_held()
    std::vector<Then> held;
    void look(std::size_t route, const Digest& key,
              std::function<void(StatusOutcome)> then) override {
        looks.emplace_back(route, key);
        then(status);
    }
    std::vector<KeyedRequest> requests;
    std::vector<std::pair<std::size_t, Digest>> looks;
    StatusOutcome status = KeyStatus{.state = KeyStatus::State::completed, .status = 201};
    KeyedOutcome outcome = KeyedAnswer{.state = KeyState::fresh, .result = {.status = 201}};
};

class FrontDoorTest : public ::testing::Test {
  protected:
    RouteOptions& route(const std::string& method, const std::string& path, RouteTarget target) {
        RouteOptions& made = options_.routes.emplace_back();
        made.pattern = {method, path};
        made.target = std::move(target);
        return made;
    }
    RouteOptions& to_topic() {
        return route("POST", "/events", TopicTarget{.topic = "events", .forwarded = {"X-Kind"}});
    }
    RouteOptions& to_sink() { return route("POST", "/orders/{id}", SinkTarget{}); }

    HttpResponse send(const std::string& method, const std::string& target, HttpHeaders headers,
                      const std::string& body = "{}") {
        if (!door_) {
            door_ = std::make_unique<FrontDoor>(
                options_,
                FrontDoor::Parts{
                    .topics = &topics_, .keyed = &keyed_, .keys = keys_.get(), .fields = fields_});
        }
        // It outlives this call where the answer comes later.
        const auto answer = std::make_shared<std::optional<HttpResponse>>();
        door_->handle({method, target, std::move(headers), body},
                      [answer](HttpResponse response) { *answer = std::move(response); });
        return answer->value_or(HttpResponse{.status = 0});
    }
    static std::string type(const HttpResponse& response) {
        const std::string whole = nlohmann::json::parse(response.body).at("type");
        return std::to_string(response.status) + " " + whole.substr(whole.rfind('/') + 1);
    }

    GatewayOptions options_;
    FakeTopics topics_;
    FakeSinks keyed_;
    std::unique_ptr<KeySetCache> keys_;
    FieldsDigest fields_;
    std::unique_ptr<FrontDoor> door_;
};

}  // namespace onceward
