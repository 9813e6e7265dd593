#pragma once
// What one option allows of another: combinations that cannot work, and those that only look as if
// they did. Pure, except that it checks whether named files exist; opens no connection.

#include <initializer_list>
#include <string>
#include <string_view>

#include "cli/configuration/configuration.h"
#include "cli/configuration/report.h"

namespace onceward {

// A part of the file, such as `topics[0].ledger`, as checks see it: what is given there, and where
// a finding about it belongs. It borrows the report. Used by one thread.
class Section {
  public:
    Section(Report& report, std::string path) : report_(report), path_(std::move(path)) {}
    // A part of this part.
    Section at(const std::string& name) const { return {report_, path(name)}; }

    // The whole file.
    Section top() const { return {report_, ""}; }

    std::string path(const std::string& name = "") const {
        return path_.empty() || name.empty() ? path_ + name : path_ + "." + name;
    }
    bool given(const std::string& name = "") const { return report_.given(path(name)); }
    bool known(const std::string& name = "") const { return report_.known(path(name)); }
    // The first of two options if it is given, else the second: the one to blame for both.
    std::string given_of(const std::string& first, const std::string& second) const {
        return given(first) ? first : second;
    }

    // `option` is below this part; '' is the part itself.
    void error(const std::string& option, const std::string& message) const {
        report_.error_at(path(option), message);
    }
    void warning(const std::string& option, const std::string& message) const {
        report_.warning_at(path(option), message);
    }

    // Rules against what must not be: each broken one is an error, in their order.
    struct Rule {
        bool broken;
        std::string option;
        std::string message;
    };
    void check(std::initializer_list<Rule> rules) const {
        for (const Rule& rule : rules) {
            if (rule.broken) error(rule.option, rule.message);
        }
    }
    // Options that have no meaning here.
    void refuse(std::initializer_list<const char*> options, const std::string& message) const {
        for (const char* option : options) {
            if (given(option)) error(option, message);
        }
    }

  private:
    Report& report_;
    std::string path_;
};

void check_combinations(const Configuration& configuration, Report& report);
void check_traces(const TracesConfiguration& traces, const Section& at);

// The parts of check_combinations(). `at` is the place in the file of what is checked: a topic, a
// route, or what the function's name says.
void check_http(const Configuration& configuration, Report& report);
// Where the front door listens, and whose tokens it accepts. `at` is `http`.
void check_front_door(const Configuration& configuration, const Section& at);
void check_databases(const Configuration& configuration, Report& report);
// Who may do what at the admin port, and over what.
void check_admin_access(const Configuration& configuration, Report& report);
void check_topic(const TopicConfiguration& topic, const LedgerOptions& ledger, const Section& at);
// What a topic has in common with a route to a sink: format, ledger, sink.
void check_message(const TopicConfiguration& message, const LedgerOptions& ledger,
                   const Section& at);
// The same for the message of a request.
void check_message_of_route(const TopicConfiguration& message, const LedgerOptions& ledger,
                            const Section& at);
void check_upstream_route(const RouteConfiguration& route, const LedgerOptions& ledger,
                          const ResultLimits& limits, const Section& at);
void check_ledger(const LedgerOptions& ledger, const Section& at);
void check_lease(const TopicConfiguration& topic, const LedgerOptions& ledger, const Section& at);
// Whether the topic can store results and reply.
void check_answers(const TopicConfiguration& topic, const LedgerOptions& ledger, const Section& at);
void check_table_sink(const TopicConfiguration& topic, const TableSinkOptions& sink,
                      const Section& at);
void check_function_sink(const TopicConfiguration& topic, const FunctionSinkOptions& sink,
                         const Section& at);
// `sink.outbox` and `also_publish`.
void check_outboxes(const TopicConfiguration& topic, const Section& at);
// The topics that dead letters are published to.
void check_dead_letter_topics(const Configuration& configuration, Report& report);
void check_webhook(const TopicConfiguration& topic, const WebhookOptions& webhook,
                   const LedgerOptions& ledger, const Section& at);

// Whether the text has letters and digits of ASCII and these marks alone.
bool has_only(std::string_view text, std::string_view marks);

// What several of them check. `option` is below `at`; '' is `at` itself.

// Where a server is: `postgres` or an entry of `databases`.
void check_server_address(const Secret& dsn, const std::string& schema, const Section& at);
void check_operator_address(const Secret& dsn, const Section& at);
// Returns whether it may be a topic's name.
bool check_topic_name(const std::string& name, const std::string& option, const Section& at,
                      const std::string& advice = "");
void check_file(const std::string& file, const std::string& option, const Section& at);
// Whether paths in the payload look like the format's paths. `at` is the topic or the route.
void check_field_path(const FieldSource& source, const FormatOptions& format,
                      const std::string& option, const Section& at);
void check_field_paths(const std::vector<ColumnOptions>& columns, const FormatOptions& format,
                       const std::string& option, const Section& at);
// Whether the columns' conversions can follow each other; for a table's columns the catalog says
// the rest.
enum class ColumnPlace : std::uint8_t { table, document, header };
void check_conversions(const std::vector<ColumnOptions>& columns, ColumnPlace place,
                       const std::string& option, const Section& at);
// The paths of a fingerprint of fields; `option` is where they are written.
void check_fingerprint_fields(const TopicConfiguration& message, const std::string& option,
                              const std::string& whole, const Section& at);
// What is kept of results or of a route's answers.
void check_kept_headers(const ResultLimits& limits, const Section& at);

// What calls to a webhook and to an upstream have in common (call_checks.cc).

struct CallTarget {
    const Secret& url;
    const std::vector<std::string>& allow_private;
    bool with_query = false;  // whether the address may have one
    const char* missing;      // said if there is no address
    const char* advice;       // what to write as an address
    const char* in_clear;     // what would go over the network without TLS
};
void check_call_address(const CallTarget& target, const Section& at);
void check_call_files(const std::string& ca_file, const std::vector<std::string>& allow_private,
                      const Section& at);
void check_header_value(const Secret& value, const std::string& option, const Section& at);
// How long a call may take under the ledger's leases; `at` is the topic or the route.
void check_lease_covers(std::chrono::milliseconds call, const std::string& timeout,
                        const LedgerOptions& ledger, const std::string& another, const Section& at);
void check_lease_ends(const LedgerOptions& ledger, const Section& at);

}  // namespace onceward
