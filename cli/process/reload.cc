#include "cli/process/reload.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/configuration/load.h"
#include "cli/plan/judgement.h"
#include "dedup/base/logging.h"

namespace onceward {
namespace {

using Result = ReloadOutcome::Result;

constexpr std::chrono::milliseconds look_every{100};  // whether the process ends

std::string errors_of(const LoadResult& loaded, const std::string& file) {
    std::string text;
    for (const Finding& finding : loaded.findings) {
        if (finding.severity != Finding::Severity::error) continue;
        text += (text.empty() ? "" : "; ") + to_text(finding, file);
    }
    return text;
}

std::string restarts_of(const std::vector<Consequence>& consequences) {
    std::string text;
    for (const Consequence& one : consequences) {
        if (!one.reloads) text += (text.empty() ? "" : " ") + line_of(one);
    }
    return text;
}

// The server of the topic, which is in one of the configurations or in both.
std::string server_of(const Configuration& now, const Configuration& next,
                      const std::string& topic) {
    for (const Configuration* one : {&next, &now}) {
        const auto found = std::ranges::find(one->topics, topic, &TopicConfiguration::name);
        if (found != one->topics.end()) return found->database;
    }
    return default_database;
}

void log_outcome(const ReloadOutcome& outcome, const std::string& file) {
    for (const Consequence& one : outcome.consequences) {
        log_info("configuration.changes", {{"file", file}, {"consequence", line_of(one)}});
    }
    if (outcome.result == Result::refused) {
        log_error("configuration.reload_refused", {{"file", file}, {"error", outcome.refusal}});
    } else {
        log_info("configuration.reloaded",
                 {{"file", file}, {"result", to_text(outcome.result)}});
    }
}

}  // namespace

std::string_view to_text(ReloadOutcome::Result result) {
    switch (result) {
        case Result::applied: return "applied";
        case Result::unchanged: return "unchanged";
        case Result::refused: return "refused";
    }
    return "";
}

ReloadPlan plan_reload(const Configuration& now) {
    LoadResult loaded = load_configuration(now.file);
    if (loaded.usable()) check_setup(loaded);
    ReloadPlan plan;
    if (!loaded.usable()) {
        plan.outcome = {Result::refused, errors_of(loaded, now.file)};
        return plan;
    }
    plan.outcome.consequences = judge(&now, loaded.configuration, {});
    if (plan.outcome.consequences.empty()) return plan;
    // DANGER: apply all of it or nothing. With a part of it the process would run with a
    // configuration that nobody has written.
    plan.outcome.refusal = restarts_of(plan.outcome.consequences);
    plan.outcome.result = plan.outcome.refusal.empty() ? Result::applied : Result::refused;
    if (plan.outcome.result == Result::refused) return plan;
    for (const Consequence& one : plan.outcome.consequences) {
        plan.servers.insert(server_of(now, loaded.configuration, one.topic));
    }
    plan.next = std::make_shared<const Configuration>(std::move(loaded.configuration));
    return plan;
}

Reloads::Reloads(CurrentConfiguration& current, Process process)
    : current_(current), process_(std::move(process)) {}

std::shared_future<ReloadOutcome> Reloads::ask(const std::string& by) {
    const MutexLock lock(mutex_);
    if (!next_) next_ = std::make_unique<Asked>();
    next_->by += (next_->by.empty() ? "" : ", ") + by;
    return next_->outcome;
}

void Reloads::tend() {
    if (under_way_) {
        if (process_.applied()) end(std::move(wanted_));
        return;
    }
    {
        const MutexLock lock(mutex_);
        under_way_ = std::move(next_);
        state_.under_way = under_way_ != nullptr;
    }
    if (under_way_) begin(*under_way_);
}

void Reloads::begin(Asked& asked) {
    const std::shared_ptr<const Configuration> now = current_.get();
    log_info("configuration.reloading", {{"file", now->file}, {"by", asked.by}});
    process_.begins();
    try {
        ReloadPlan plan = plan_reload(*now);
        if (plan.outcome.result != Result::applied) return end(std::move(plan.outcome));
        process_.apply(plan);
        current_.replace(plan.next);
        wanted_ = std::move(plan.outcome);
    } catch (const std::exception& error) {
        end({Result::refused, error.what()});
    }
}

void Reloads::end(ReloadOutcome outcome) {
    log_outcome(outcome, current_.get()->file);
    {
        const MutexLock lock(mutex_);
        const bool refused = outcome.result == Result::refused;
        state_.applied += outcome.result == Result::applied ? 1 : 0;
        state_.unchanged += outcome.result == Result::unchanged ? 1 : 0;
        state_.refused += refused ? 1 : 0;
        state_.under_way = false;
        state_.refusal = outcome.refusal;
        if (!refused) state_.last_success = std::chrono::system_clock::now();
    }
    process_.ends();
    const std::unique_ptr<Asked> asked = std::move(under_way_);
    asked->promise.set_value(std::move(outcome));
}

ReloadAct reload_act(Reloads& reloads, std::chrono::milliseconds limit) {
    return [&reloads, limit](const std::function<bool()>& stopped) -> nlohmann::json {
        const auto outcome = reloads.ask("admin port");
        const auto end = std::chrono::steady_clock::now() + limit;
        while (outcome.wait_for(std::min(look_every, limit)) != std::future_status::ready) {
            if (stopped()) throw std::runtime_error("the process ends");
            if (std::chrono::steady_clock::now() < end) continue;
            return {{"result", still_under_way},
                    {"refusal", ""},
                    {"consequences", nlohmann::json::array()}};
        }
        nlohmann::json consequences = nlohmann::json::array();
        for (const Consequence& one : outcome.get().consequences) {
            consequences.push_back(nlohmann::json(json_of(one)));
        }
        return {{"result", to_text(outcome.get().result)},
                {"refusal", outcome.get().refusal},
                {"consequences", consequences}};
    };
}

ReloadState Reloads::state() const {
    const MutexLock lock(mutex_);
    return state_;
}

}  // namespace onceward
