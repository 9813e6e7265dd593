#include "cli/operate/admin_acts.h"

#include <algorithm>
#include <map>

#include "cli/configuration/databases.h"
#include "cli/dlq/redrive.h"
#include "cli/dlq/redrive_plan.h"
#include "cli/keys/key_lookup.h"
#include "cli/keys/key_scope.h"
#include "cli/operate/act_body.h"
#include "cli/operate/forget_key.h"
#include "cli/operate/redrive_rules.h"
#include "cli/operator/actor.h"
#include "cli/operator/time_option.h"
#include "cli/terminal/exit_code.h"
#include "dedup/base/host_name.h"
#include "dedup/base/logging.h"
#include "dedup/server/migration.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

constexpr std::int64_t usual_limit = 100;  // letters of one act
constexpr std::int64_t largest_limit = 1000;

struct Act {
    const Configuration& configuration;
    const AdminAct& asked;
    ActBody body;
    const ReloadAct& reload;

    std::string reason = {};
    int status = 200;  // of the answer, unless it is refused
    // A session with the server of that topic or route, in which the audit log knows the caller.
    Connection session(const std::string& source) const;
};

Connection Act::session(const std::string& source) const {
    std::vector<Configuration> parts = used_databases(configuration);
    const auto has_it = [&](const Configuration& part) {
        return std::ranges::find(part.topics, source, &TopicConfiguration::name) !=
               part.topics.end();
    };
    auto part = std::ranges::find_if(parts, has_it);
    // Routes are on the server in `postgres`.
    if (part == parts.end()) part = parts.begin();
    if (part == parts.end()) throw ActRefused(400, "Nothing here is in PostgreSQL.");
    const AdminCaller& caller = asked.caller;
    const Actor actor{.who = caller.who,
                      .role = std::string(to_text(caller.role)),
                      .way = "admin port",
                      .host = host_name(),
                      .address = asked.address,
                      .command = "POST " + asked.path + " " + body.line(),
                      .reason = reason};
    ConnectionOptions options = part->postgres;
    if (!part->operator_dsn.empty()) options.dsn = part->operator_dsn;
    options.application_name = "onceward admin port";
    Connection connection = acting_session(options, to_setting(actor));
    require_version(connection);
    return connection;
}

// Throws UsageError if there is no such topic.
const TopicConfiguration& topic_of(Act& act) {
    return topic_named(act.configuration, act.body.needed("topic"));
}

nlohmann::json pause_topic(Act& act) {
    const TopicConfiguration& topic = topic_of(act);
    act.reason = act.body.needed("reason");
    act.body.end();
    Connection connection = act.session(topic.name);
    const bool known = true;
    const QueryResult paused = connection.query(
        sql::pauses_begin, Parameters{act.configuration.group, topic.name, act.reason, known});
    return {{"topic", topic.name},
            {"paused_at", std::string(paused.text(0, 0))},
            {"already", paused.boolean(0, 1)}};
}

nlohmann::json resume_topic(Act& act) {
    const TopicConfiguration& topic = topic_of(act);
    act.reason = act.body.text("reason");
    act.body.end();
    Connection connection = act.session(topic.name);
    const QueryResult ended =
        connection.query(sql::pauses_end, Parameters{act.configuration.group, topic.name});
    if (ended.rows() == 0) throw ActRefused(409, "The topic is not paused.");
    return {{"topic", topic.name}, {"paused_at", std::string(ended.text(0, 0))}};
}

std::optional<std::chrono::milliseconds> moment_in(Act& act, const char* name) {
    const std::string text = act.body.text(name);
    if (text.empty()) return std::nullopt;
    const auto moment = moment_of(text);
    if (!moment) {
        throw ActRefused(400, "`" + std::string(name) + "` " + not_taken(moment_forms, text) + ".");
    }
    return moment;
}

DeadLetterFilter filter_of(Act& act, const TopicConfiguration& topic,
                           std::vector<std::string> states) {
    DeadLetterFilter filter{.group = act.configuration.group, .topic = topic.name};
    filter.classes = act.body.texts("classes");
    filter.since = moment_in(act, "since");
    filter.until = moment_in(act, "until");
    filter.key = act.body.text("key");
    filter.numbers = act.body.numbers("numbers");
    filter.states = std::move(states);
    filter.limit = act.body.number("limit", usual_limit, largest_limit);
    return filter;
}

nlohmann::json counts_of(const RedrivePlan& plan) {
    return {{"picked", plan.letters.size()},       {"exhausted", plan.exhausted},
            {"uncertain", plan.uncertain},         {"behind", plan.behind},
            {"numbers", numbers_of(plan.letters)}, {"limit_reached", plan.limit_reached},
            {"done", false}};
}

nlohmann::json redrive_letters(Act& act) {
    const TopicConfiguration& topic = topic_of(act);
    const DeadLetterFilter filter = filter_of(act, topic, {"open", "redriving"});
    RedriveRules rules{.may_repeat = act.body.flag("may_repeat", false)};
    const auto tries = act.body.number("max_tries", rules.tries_max, largest_limit);
    rules.tries_max = static_cast<int>(tries);
    rules = rules_for(rules, topic);
    const std::optional<double> rate = act.body.rate("rate");
    const bool dry_run = act.body.flag("dry_run", true);
    act.reason = dry_run ? act.body.text("reason") : act.body.needed("reason");
    act.body.end();
    Connection connection = act.session(topic.name);
    // DANGER: take the lock before the letters are read, as in `onceward dlq redrive`.
    if (!dry_run && !lock_redrives(connection, filter.group, filter.topic)) {
        throw ActRefused(409, "Another redrive of this topic is under way.");
    }
    const RedrivePlan plan = pick_for_redrive(connection, filter, rules);
    nlohmann::json answer = counts_of(plan);
    if (dry_run || plan.letters.empty()) return answer;
    const RedriveReport report =
        redrive(connection, plan.letters,
                {.producer = producer_options(act.configuration.kafka),
                 .topic = topic.name,
                 .group = filter.group,
                 .rate = rate,
                 .by_key = rules.by_key,
                 .stopped = act.asked.stopped});
    answer["delivered"] = report.delivered;
    answer["reopened"] = report.reopened;
    answer["left"] = report.left;
    answer["failure"] = report.first_failure;
    answer["done"] = report.delivered == static_cast<std::int64_t>(plan.letters.size());
    return answer;
}

nlohmann::json discard_letters(Act& act) {
    const TopicConfiguration& topic = topic_of(act);
    const DeadLetterFilter filter = filter_of(act, topic, {"open"});
    const bool dry_run = act.body.flag("dry_run", true);
    act.reason = dry_run ? act.body.text("reason") : act.body.needed("reason");
    act.body.end();
    Connection connection = act.session(topic.name);
    const std::vector<Letter> letters = select_letters(connection, filter);
    const auto picked = static_cast<std::int64_t>(letters.size());
    const std::int64_t gone = dry_run ? 0 : discard_unchanged(connection, letters, act.reason);
    return {{"picked", picked},
            {"numbers", numbers_of(letters)},
            {"discarded", gone},
            {"left", dry_run ? 0 : picked - gone},
            {"done", gone > 0}};
}

nlohmann::json forget_key(Act& act) {
    KeyQuestion question;
    question.key = act.body.needed("key");
    question.topic = act.body.text("topic");
    question.route = act.body.text("route");
    question.operation = act.body.text("operation");
    question.tenant = act.body.text("tenant");
    question.kinds = act.body.texts("kinds");
    question.cloudevents_source = act.body.text("source");
    question.is_digest = act.body.flag("digest", false);
    const std::string ledger = act.body.text("ledger");
    const bool dry_run = act.body.flag("dry_run", true);
    act.reason = dry_run ? act.body.text("reason") : act.body.needed("reason");
    act.body.end();
    if (!question.topic.empty() && !question.route.empty()) {
        throw ActRefused(400, "A key is of a topic or of a route: name one of them.");
    }
    const std::string source = source_of(question);
    const std::vector<KeyCandidate> wanted = key_candidates(question, &act.configuration);
    Connection connection = act.session(source);
    nlohmann::json begun;
    nlohmann::json answer{{"claims", find_claims(connection, wanted, begun)},
                          {"leases", find_leases(connection, wanted)}};
    bool some = false;
    for (nlohmann::json& list : answer) {
        std::erase_if(list.get_ref<nlohmann::json::array_t&>(), [&](const nlohmann::json& one) {
            return !ledger.empty() && one["ledger"] != ledger;
        });
        some = some || !list.empty();
    }
    const int evicted =
        some && !dry_run ? forget_in_all(connection, ledger, digests_of(wanted), act.reason) : 0;
    if (some && !dry_run && evicted == 0) {
        throw ActRefused(409, "The key is in flight, or it was removed meanwhile.");
    }
    answer["evicted"] = evicted;
    answer["done"] = evicted > 0;
    return answer;
}

// It may contain the path of a file, which need not be UTF-8.
std::string text_of(const nlohmann::json& json) {
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Two rows in the audit log, because a reload is no transaction: the process applies it by itself.
nlohmann::json reload_configuration(Act& act) {
    act.reason = act.body.text("reason");
    act.body.end();
    if (!act.reload) throw ActRefused(409, "This process cannot reload; restart it.");
    Connection connection = act.session("");
    const auto record = [&](const char* outcome, const nlohmann::json& details) {
        connection.query(sql::audit_write,
                         Parameters{"reload", act.configuration.group, outcome, text_of(details)});
    };
    record("began", {{"file", act.configuration.file}});
    const nlohmann::json answer = act.reload(act.asked.stopped);
    const bool refused = answer.at("result") == "refused";
    const bool under_way = answer.at("result") == still_under_way;
    if (under_way) act.status = 202;
    try {
        record(refused || under_way ? "incomplete" : "done",
               {{"result", answer.at("result")}, {"refusal", answer.at("refusal")}});
    } catch (const std::exception& error) {
        // What the process has done stays done, and the first row says that it began.
        const auto* const refused_by = dynamic_cast<const PostgresError*>(&error);
        log_error("admin.act_not_audited",
                  {{"act", "reload"},
                   {"error", refused_by != nullptr ? refused_by->summary() : error.what()}});
    }
    if (refused) throw ActRefused(409, answer.at("refusal").get<std::string>());
    return answer;
}

HttpResponse refused(int status, const std::string& detail) {
    const char* title = status == 403   ? "Not allowed"
                        : status == 404 ? "No such act"
                        : status == 409 ? "Not now"
                        : status == 503 ? "PostgreSQL refused"
                                        : "Not understood";
    return to_response(AdminRefusal{status, title, detail});
}

HttpResponse answer_to(const Configuration& configuration, const AdminAct& asked,
                       const ReloadAct& reload) {
    using Work = nlohmann::json (*)(Act&);
    static const std::map<std::string, Work> acts{{"/api/pause", pause_topic},
                                                  {"/api/resume", resume_topic},
                                                  {"/api/dlq/redrive", redrive_letters},
                                                  {"/api/dlq/discard", discard_letters},
                                                  {"/api/forget", forget_key},
                                                  {"/api/reload", reload_configuration}};
    const auto found = acts.find(asked.path);
    if (found == acts.end()) return refused(404, "There is no " + asked.path + " here.");
    try {
        Act act{configuration, asked, ActBody(asked.body), reload};
        const nlohmann::json answer = found->second(act);
        return {.status = act.status,
                .headers = {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}},
                .body = text_of(answer)};
    } catch (const ActRefused& error) {
        return refused(error.status(), error.what());
    } catch (const UsageError& error) {
        return refused(400, error.what());
    } catch (const PostgresError& error) {
        if (error.sqlstate() != "42501") return refused(503, error.what());
        return refused(403, error.diagnosis().message +
                                ": the role of `postgres.operator_dsn` needs what `onceward "
                                "migrate up --grant-operator-to ROLE` gives");
    } catch (const std::exception& error) {
        log_error("admin.act_failed", {{"act", asked.path}, {"error", error.what()}});
        return refused(503, error.what());
    }
}

}  // namespace

AdminActs admin_acts(const CurrentConfiguration& current, ReloadAct reload) {
    return [&current, reload = std::move(reload)](const AdminAct& asked) {
        return answer_to(*current.get(), asked, reload);
    };
}

}  // namespace onceward
