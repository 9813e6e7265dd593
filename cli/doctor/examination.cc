#include <algorithm>

#include "cli/admin/admin_server.h"
#include "cli/configuration/databases.h"
#include "cli/doctor/probes.h"

namespace onceward {
namespace {

// A process on this machine, if there is one.
std::vector<ProbeRow> ask_process(const ListenAddress& address, const std::string& group,
                                  std::chrono::milliseconds limit) {
    AdminAnswer answer;
    try {
        answer = ask_admin_port(address, "/readyz", limit * 4 / 5);
    } catch (const AdminError& error) {
        return {{ProbeVerdict::note,
                 "no process of this configuration runs here (" + std::string(error.what()) + ")",
                 ""}};
    }
    if (answer.process != name_of(group)) {
        return {{ProbeVerdict::warning,
                 to_text(address) + " is held by a process of another group, or not by Onceward",
                 "Give this configuration an `admin.listen` of its own."}};
    }
    if (answer.status == 200) return {{ProbeVerdict::ok, "the process is ready", ""}};
    return {{ProbeVerdict::fault, "the process is not ready: " + answer.body,
             "The page on halted topics says what each reason needs."}};
}

// A registry that does not answer is given up before the probe's time is over, so that the reason
// is reported.
Probe registry_probe(Configuration configuration, std::size_t index,
                     std::chrono::milliseconds limit) {
    RegistryConfiguration registry = configuration.registries[index];
    const auto addresses =
        static_cast<std::int64_t>(std::max<std::size_t>(registry.urls.size(), 1));
    registry.timeout = std::min(registry.timeout, limit * 4 / 5 / addresses);
    const std::string name = registry.name;
    configuration.registries = {std::move(registry)};
    return {"registries", name,
            [asked = std::move(configuration)] { return rows_of(check_registries(asked)); }};
}

std::vector<Probe> first_probes(const Configuration& configuration,
                                const std::vector<Configuration>& databases,
                                std::chrono::milliseconds limit) {
    std::vector<Probe> probes;
    if (!configuration.topics.empty()) probes.push_back(bootstrap_probe(configuration, limit));
    for (const Configuration& database : databases) {
        probes.push_back(database_probe(database, limit));
    }
    for (std::size_t index = 0; index < configuration.registries.size(); ++index) {
        probes.push_back(registry_probe(configuration, index, limit));
    }
    if (configuration.admin && configuration.admin->port != 0) {
        probes.push_back({"process", "admin port",
                          [address = *configuration.admin, group = configuration.group, limit] {
                              return ask_process(address, group, limit);
                          }});
    }
    return probes;
}

bool reached(const std::vector<ProbeResult>& results, const std::string& area) {
    const auto found = std::ranges::find(results, area, &ProbeResult::area);
    return found != results.end() && worst({*found}) != ProbeVerdict::fault;
}

ProbeResult left_out(const std::string& area) {
    return {area, "the rest", {{ProbeVerdict::note, "not probed, because it is not reached", ""}}};
}

}  // namespace

std::vector<ProbeRow> rows_of(const ConnectResult& result) {
    std::vector<ProbeRow> rows;
    for (const Finding& finding : result.findings) {
        const bool error = finding.severity == Finding::Severity::error;
        rows.push_back({error ? ProbeVerdict::fault : ProbeVerdict::warning, finding.message,
                        "See `" + finding.path + "`, line " + std::to_string(finding.mark.line) +
                            " of the configuration."});
    }
    for (const std::string& line : result.good) rows.push_back({ProbeVerdict::ok, line, ""});
    if (rows.empty()) rows.push_back({ProbeVerdict::note, "there is nothing to check yet", ""});
    return rows;
}

std::vector<ProbeResult> examine(const Configuration& configuration,
                                 std::chrono::milliseconds limit) {
    const std::vector<Configuration> databases = used_databases(configuration);
    std::vector<ProbeResult> results =
        run_probes(first_probes(configuration, databases, limit), limit);
    std::vector<Probe> further;
    std::vector<ProbeResult> others;
    if (reached(results, "brokers")) {
        std::vector<std::string> brokers;
        try {
            brokers = broker_addresses(configuration, limit);
        } catch (const KafkaError& error) {
            others.push_back({"brokers", "each broker", {{ProbeVerdict::fault, error.what(), ""}}});
        }
        further = broker_probes(configuration, brokers, limit);
    } else if (!configuration.topics.empty()) {
        others.push_back(left_out("brokers"));
    }
    for (const Configuration& database : databases) {
        const std::string area = database_text(database.database);
        if (!reached(results, area)) {
            others.push_back(left_out(area));
            continue;
        }
        for (Probe& probe : database_probes(database, limit)) further.push_back(std::move(probe));
    }
    for (ProbeResult& result : run_probes(further, limit)) results.push_back(std::move(result));
    std::ranges::move(others, std::back_inserter(results));
    // An area's results together, in the order in which the areas were first asked.
    std::vector<std::string> areas;
    for (const ProbeResult& result : results) {
        if (std::ranges::find(areas, result.area) == areas.end()) areas.push_back(result.area);
    }
    std::ranges::stable_sort(results, {}, [&](const ProbeResult& result) {
        return std::ranges::find(areas, result.area) - areas.begin();
    });
    return results;
}

}  // namespace onceward
