// The conformance suite: ../../cases.json says what every package of the inbox does.

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cctype>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <variant>

#include "inbox/cpp/lease.h"
#include "case_form.h"
#include "support.h"

namespace onceward::pqxx {
namespace {

using Answer = std::variant<std::monostate, Claim, std::vector<Claim>, Lease, bool>;

struct Session {
    std::unique_ptr<::pqxx::connection> connection;
    std::unique_ptr<::pqxx::transaction_base> transaction;
};

template <class Answered>
Json members(const Answered& answer) {
    Json made{{"outcome", name_of(answer.outcome)}, {"status", nullptr}, {"body", nullptr},
              {"headers", nullptr}};
    if (answer.result) {
        made["status"] = answer.result->status;
        if (answer.result->body) made["body"] = *answer.result->body;
        made["headers"] = Json::array();
        for (const Header& header : answer.result->headers) {
            made["headers"].push_back({{"name", header.name}, {"value", header.value}});
        }
    }
    if constexpr (std::is_same_v<Answered, Claim>) {
        made["mine"] = answer.mine;
    } else {
        made["attempts"] = answer.attempts;
        made["taken_over"] = answer.taken_over;
        made["downstream_key"] = answer.downstream_key.text();
    }
    return made;
}

class Player {
  public:
    explicit Player(std::string operation) : operation_(std::move(operation)) {}

    void play(Step step) {
        Answer answer;
        std::string refused;
        const std::string what = step.at("do");
        try {
            if (step.has("later")) {
                later_[step.text("later")] = {start(step), step.text("as")};
                return;
            }
            if (what == "join") {
                auto task = std::move(later_.at(step.text("task")));
                answer = task.answer.get();
                if (!task.as.empty()) kept_.insert_or_assign(task.as, answer);
            } else if (!statement(what, step)) {
                answer = start(step).get();
            }
        } catch (const ::pqxx::sql_error& error) {
            refused = error.sqlstate();
            const bool own = dynamic_cast<const Refused*>(&error) != nullptr;
            EXPECT_TRUE(own || what == "commit" || !refused.starts_with("OW"))
                << "refusals of the package's functions are its own errors";
            EXPECT_EQ(refused, step.text("error")) << error.what();
        }
        EXPECT_EQ(refused, step.text("error"));
        if (!step.text("as").empty()) kept_.insert_or_assign(step.text("as"), answer);
        if (step.has("expect")) compare(step, answer);
        EXPECT_TRUE(refused.empty() || step.text("as").empty() || !step.has("expect"));
        EXPECT_TRUE(step.knows_all()) << "a member of the step was skipped";
    }

  private:
    struct Task {
        std::future<Answer> answer;
        std::string as;
    };

    Session& session(const std::string& name) {
        Session& found = sessions_[name];
        if (!found.connection) found.connection = std::make_unique<::pqxx::connection>(dsn());
        return found;
    }

    // Statements of the program's own; false if the step is a call of the package.
    bool statement(const std::string& what, Step& step) {
        if (what == "effects") {
            EXPECT_EQ(effects(operation_), step.at("count"));
            return true;
        }
        if (what == "same") {
            std::set<Json> values;
            for (const std::string name : step.at("of")) {
                values.insert(members(std::get<Lease>(kept_.at(name))).at(step.text("member")));
            }
            EXPECT_EQ(values.size(), 1U);
            return true;
        }
        Session& on = session(step.text("on"));
        const auto run = [&](const std::string& text) {
            if (on.transaction) {
                on.transaction->exec(text);
            } else {
                ::pqxx::nontransaction(*on.connection).exec(text);
            }
        };
        if (what == "begin") {
            begin(on, step.text("isolation"));
        } else if (what == "commit") {
            const auto transaction = std::move(on.transaction);
            transaction->commit();
        } else if (what == "rollback") {
            on.transaction.reset();
        } else if (what == "savepoint") {
            run("SAVEPOINT " + step.text("name"));
        } else if (what == "rollback_to") {
            run("ROLLBACK TO " + step.text("name"));
        } else if (what == "release") {
            run("RELEASE " + step.text("name"));
        } else if (what == "sql") {
            run(step.text("text"));
        } else if (what == "effect") {
            step.at("value");
            add_effect(*on.transaction, operation_);
        } else if (what == "break") {
            ::shutdown(on.connection->sock(), SHUT_RDWR);
            on.transaction.reset();
            on.connection.reset();
        } else {
            return false;
        }
        return true;
    }

    static void begin(Session& on, const std::string& isolation) {
        using Level = ::pqxx::isolation_level;
        on.transaction.reset();
        ::pqxx::connection& connection = *on.connection;
        if (isolation == "repeatable read") {
            on.transaction =
                std::make_unique<::pqxx::transaction<Level::repeatable_read>>(connection);
        } else if (isolation == "serializable") {
            on.transaction = std::make_unique<::pqxx::transaction<Level::serializable>>(connection);
        } else {
            on.transaction = std::make_unique<::pqxx::work>(connection);
        }
    }

    Inbox inbox(Step& step, const std::string& what) {
        const bool leases = what.find("lease") != std::string::npos;
        return {.operation = operation_ + step.text("suffix"),
                .tenant = step.text("tenant"),
                .ledger = step.get<std::string>("ledger", leases ? "cases_leases" : "cases")};
    }

    static Result result(Step& step) {
        Result made{.status = step.get("status", 0), .body = step.text("body")};
        made.body.append(step.get("body_bytes", 0), 'b');
        made.failed = step.get("failed", false);
        for (const Json& header : step.get("headers", Json::array())) {
            made.headers.push_back({header.at("name"), header.at("value")});
        }
        return made;
    }

    template <class Kept>
    const Kept& of(Step& step) {
        return std::get<Kept>(kept_.at(step.text("of")));
    }

    // The call, in a thread of its own if the step is for later.
    std::future<Answer> start(Step& step) {
        const std::string what = step.at("do");
        const auto policy = step.has("later") ? std::launch::async : std::launch::deferred;
        ::pqxx::transaction_base& in = *session(step.text("on")).transaction;
        const auto call = [&](auto function) { return std::async(policy, std::move(function)); };
        const Inbox with = inbox(step, what);
        const std::chrono::milliseconds hold(step.get("hold_ms", 60'000));
        std::optional<Uuid> fingerprint;
        if (step.has("fingerprint")) fingerprint = fingerprint_of(step.text("fingerprint"));
        std::optional<Uuid> attempt;
        if (step.has("attempt")) attempt = Uuid::parse(step.text("attempt"));
        if (what == "claim") {
            const ClaimOptions options{.fingerprint = fingerprint,
                                       .attempt = attempt,
                                       .minted_at = time_of(step.get("minted_at", Json()))};
            return call([&in, with, key = key_of(step.at("key")), options]() -> Answer {
                return claim(in, with, key, options);
            });
        }
        if (what == "lease") {
            const LeaseOptions options{.fingerprint = fingerprint,
                                       .attempt = attempt,
                                       .hold = hold,
                                       .honours_key = step.get("honours_key", true)};
            return call([&in, with, key = key_of(step.at("key")), options]() -> Answer {
                return lease(in, with, key, options);
            });
        }
        if (what == "claim_many") return call([&, with] { return many(in, with, step); });
        if (what == "finish_many") {
            return call([&, with]() -> Answer {
                finish_many(in, with, of<std::vector<Claim>>(step), step.get("status", 0));
                return {};
            });
        }
        if (what == "finish") {
            return call([&, with]() -> Answer {
                finish(in, with, of<Claim>(step), result(step));
                return {};
            });
        }
        if (what == "end_lease") {
            return call([&, with]() -> Answer {
                return end_lease(in, with, of<Lease>(step), result(step));
            });
        }
        if (what == "extend_lease") {
            return call([&, with, hold]() -> Answer {
                return extend_lease(in, with, of<Lease>(step), hold);
            });
        }
        if (what == "release_lease") {
            return call([&, with]() -> Answer { return release_lease(in, with, of<Lease>(step)); });
        }
        throw std::runtime_error("unknown step " + what);
    }

    static Answer many(::pqxx::transaction_base& in, const Inbox& with, Step& step) {
        std::vector<std::string> keys;
        for (const Json& key : step.at("keys")) keys.push_back(key_of(key));
        ManyOptions options;
        for (const std::string text : step.get("fingerprints", Json::array())) {
            options.fingerprints.emplace_back(fingerprint_of(text));
        }
        for (const Json& time : step.get("minted_at", Json::array())) {
            options.minted_at.push_back(time_of(time));
        }
        options.max_bytes = step.get<std::int64_t>("max_bytes", options.max_bytes);
        return claim_many(in, with, keys, options);
    }

    static void compare(Step& step, const Answer& answer) {
        const Json expected = step.at("expect");
        if (const auto* const said = std::get_if<bool>(&answer)) {
            EXPECT_EQ(Json(*said), expected);
        } else if (const auto* const claims = std::get_if<std::vector<Claim>>(&answer)) {
            Json outcomes = Json::array();
            Json lengths = Json::array();
            for (const Claim& claim : *claims) {
                outcomes.push_back(name_of(claim.outcome));
                const bool has_body = claim.result && claim.result->body;
                lengths.push_back(has_body ? Json(claim.result->body->size()) : Json());
            }
            EXPECT_EQ(outcomes, expected);
            if (step.has("body_lengths")) {
                EXPECT_EQ(lengths, step.at("body_lengths"));
            }
        } else {
            const auto* const claim = std::get_if<Claim>(&answer);
            const Json got = claim != nullptr ? members(*claim) : members(std::get<Lease>(answer));
            for (const auto& [name, value] : expected.items()) EXPECT_EQ(got.at(name), value);
        }
    }

    std::string operation_;
    std::map<std::string, Session> sessions_;
    std::map<std::string, Answer> kept_;
    std::map<std::string, Task> later_;
};

class Cases : public ::testing::TestWithParam<Json> {
  protected:
    static void SetUpTestSuite() {
        set_up_database();
        ::pqxx::connection connection(dsn());
        ::pqxx::nontransaction session(connection);
        for (const Json& one : cases().at("ledgers")) {
            session.exec("SELECT onceward.register_ledger($1, $2, $3::interval, $4::interval, $5, "
                         "$6)",
                         ::pqxx::params{std::string(one.at("ledger")), std::string(one.at("store")),
                                        std::string(one.at("retention")),
                                        std::string(one.at("longest_request")),
                                        bool(one.at("stores_results")),
                                        int(one.at("max_result_bytes"))});
        }
    }
};

TEST_P(Cases, IsPlayed) {
    Player player(new_operation());
    for (const Json& step : GetParam().at("steps")) {
        SCOPED_TRACE(step.dump());
        player.play(Step(step));
        if (HasFailure()) return;
    }
}

std::string name_of_case(const ::testing::TestParamInfo<Json>& info) {
    std::string name;
    for (const char c : std::string(info.param.at("name"))) {
        name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
    }
    return name;
}

INSTANTIATE_TEST_SUITE_P(All, Cases, ::testing::ValuesIn(cases().at("cases")), name_of_case);

TEST(Digests, AreTheGoldenOnes) {
    set_up_database();
    ::pqxx::connection connection(dsn());
    for (const Json& golden : cases().at("digests")) {
        Inbox inbox{.operation = golden.at("operation"),
                    .kind = golden.at("kind"),
                    .tenant = golden.at("tenant"),
                    .ledger = "cpp_calls"};
        ::pqxx::work transaction(connection);
        const std::string key = key_of(golden.at("key"));
        EXPECT_EQ(claim(transaction, inbox, key).digest.text(), golden.at("digest"));
        inbox.ledger = "cpp_leases";
        const Lease taken = lease(transaction, inbox, key);
        EXPECT_EQ(taken.digest.text(), golden.at("digest"));
        EXPECT_EQ(taken.downstream_key.text(), golden.at("downstream_key"));
    }
}

TEST(Fingerprints, AreTheGoldenOnes) {
    for (const Json& golden : cases().at("fingerprints")) {
        EXPECT_EQ(fingerprint_of(std::string(golden.at("content"))).text(),
                  golden.at("fingerprint"));
    }
}

}  // namespace
}  // namespace onceward::pqxx
