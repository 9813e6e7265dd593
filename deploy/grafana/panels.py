"""What the dashboards show; `generate` makes Grafana's JSON of it.

Counters are rates over Grafana's own window. What comes from PostgreSQL is the same from every
process, so it is `max`, not `sum`. `$job`, `$group`, `$topic` and `$route` are choices at the top.
"""

here = 'job=~"$job"'
per_topic = here + ', topic=~"$topic"'
of_group = here + ', group=~"$group"'
per_route = here + ', route=~"$route"'


def panel(title, expressions, unit="short", kind="timeseries", width=8, stack=False, bad=None):
    """`expressions`: {legend: PromQL}, or one; 24 columns of `width` are a row; red from `bad`."""
    if isinstance(expressions, str):
        expressions = {"": expressions}
    return {"title": title, "expressions": expressions, "unit": unit, "kind": kind,
            "width": width, "stack": stack, "bad": bad}


def stat(title, expression, unit="short", bad=None):
    return panel(title, expression, unit, "stat", 4, bad=bad)


def rate(metric, labels, by=""):
    inner = f"rate({metric}{{{labels}}}[$__rate_interval])"
    return f"sum by ({by}) ({inner})" if by else f"sum ({inner})"


def quantiles(metric, labels, by=()):
    """The median and what one of a hundred exceeds."""
    grouped = ", ".join(("le",) + tuple(by))
    legend = "".join(f" {{{{{label}}}}}" for label in by)
    return {f"p{round(100 * quantile)}{legend}":
            f"histogram_quantile({quantile}, {rate(metric + '_bucket', labels, grouped)})"
            for quantile in (0.5, 0.99)}


def heatmap(title, metric, labels):
    return panel(title, {"{{le}}": rate(metric + "_bucket", labels, "le")}, "short", "heatmap", 12)


def variable(name, query, label):
    return {"name": name, "query": f"label_values({query}, {name})", "label": label}


job = variable("job", "onceward_build_info", "Job")
group = variable("group", "onceward_group_messages_total", "Group")
topic = variable("topic", "onceward_messages_total", "Topic")
route = variable("route", "onceward_http_request_seconds_count", "Route")


def fleet():
    halted = f"sum (onceward_partitions_halted{{{here}}})"
    return {
        "Now": [
            stat("Processes", f"count (onceward_build_info{{{here}}})"),
            stat("Workers without PostgreSQL",
                 f"count (onceward_postgres_connected{{{here}}} == 0) or vector(0)", bad=1),
            stat("Halted partitions", halted, bad=1),
            stat("Stalled partitions", f"sum (onceward_partition_stalled{{{here}}})", bad=1),
            stat("Oldest message that waits", f"max (onceward_lag_seconds{{{here}}})", "s"),
            stat("Open dead letters", "sum (max by (group, topic) "
                 f"(onceward_dead_letters_open{{{of_group}}}))", bad=1)],
        "Messages": [
            panel("Messages by outcome", {"{{outcome}}": rate("onceward_messages_total", here,
                                                              "outcome")}, "ops", stack=True),
            panel("End-to-end latency",
                  quantiles("onceward_end_to_end_latency_seconds", here), "s"),
            panel("Age of the oldest message that waits",
                  {"{{topic}}": f"max by (topic) (onceward_lag_seconds{{{here}}})"}, "s")],
        "Transactions": [
            panel("Duration", quantiles("onceward_batch_duration_seconds", here), "s"),
            panel("Seconds in each part, per second",
                  {"{{part}}": rate("onceward_batch_part_duration_seconds_sum", here, "part")},
                  "s", stack=True),
            panel("COMMIT and sink, 99 of 100",
                  {"{{part}}": "histogram_quantile(0.99, " + rate(
                      "onceward_batch_part_duration_seconds_bucket",
                      here + ', part=~"commit|sink"', "le, part") + ")"}, "s"),
            panel("Transactions", rate("onceward_batches_total", here), "ops"),
            panel("Sent in one round trip", {
                "{{outcome}}": rate("onceward_round_trip_batches_total", here, "outcome")}, "ops"),
            panel("What PostgreSQL refused or lost", {
                "retries": rate("onceward_retries_total", here),
                "reconnects": rate("onceward_postgres_reconnects_total", here),
                "in doubt": rate("onceward_commits_in_doubt_total", here)}, "ops"),
            panel("Rebalances", {"{{kind}}": rate("onceward_rebalances_total", here, "kind")},
                  "ops")],
        "Processes": [
            panel("Memory of its budget", {
                "{{instance}}": f"process_resident_memory_bytes{{{here}}} / on (job, instance) "
                                f"onceward_memory_budget_bytes{{{here}}}"}, "percentunit"),
            panel("Memory", {"{{instance}}": f"process_resident_memory_bytes{{{here}}}"}, "bytes"),
            panel("Partitions", {"{{instance}}": "sum by (instance) "
                                 f"(onceward_partitions_assigned{{{here}}})"}),
            panel("Versions", {"{{version}} {{revision}} {{compiler}}":
                               "count by (version, revision, compiler) "
                               f"(onceward_build_info{{{here}}})"}, stack=True),
            panel("Age", {"{{instance}}": f"time() - process_start_time_seconds{{{here}}}"}, "s"),
            panel("Spans", {"{{result}}": rate("onceward_trace_spans_total", here, "result")},
                  "ops")],
        "PostgreSQL": [
            panel("Size of the ledgers", {"{{ledger}}": "max by (ledger) "
                                          f"(onceward_ledger_bytes{{{of_group}}})"}, "bytes"),
            panel("Claims", {"{{ledger}}": "max by (ledger) "
                             f"(onceward_ledger_claims{{{of_group}}})"}),
            panel("Retention is held back", {
                "{{ledger}}": f"max by (ledger) (onceward_ledger_held_back_seconds{{{of_group}}})"},
                  "s"),
            panel("What holds it back", {"{{ledger}}: {{holder}} {{topic}} ({{kind}})":
                                         "max by (ledger, holder, topic, kind) "
                                         f"(onceward_ledger_holder{{{of_group}}})"}),
            panel("Outbox", {"rows": f"max (onceward_outbox_waiting{{{of_group}}})"}),
            panel("Oldest row of the outbox",
                  {"{{group}}": f"max by (group) (onceward_outbox_oldest_seconds{{{of_group}}})"},
                  "s")]}


def one_topic():
    letters = "max by (group, topic) (onceward_dead_letters_{0}{{" + of_group \
        + ', topic=~"$topic"}})'
    return {
        "Messages": [
            panel("Messages by outcome", {"{{topic}} {{outcome}}": rate(
                "onceward_messages_total", per_topic, "topic, outcome")}, "ops", width=12),
            panel("End-to-end latency",
                  quantiles("onceward_end_to_end_latency_seconds", per_topic, ("topic",)), "s",
                  width=12),
            heatmap("End-to-end latency", "onceward_end_to_end_latency_seconds", per_topic),
            panel("Share of duplicates", {
                "{{topic}}": rate("onceward_messages_total", per_topic + ', outcome="duplicate"',
                                  "topic")
                + " / " + rate("onceward_messages_total", per_topic, "topic")},
                  "percentunit", width=12)],
        "Partitions": [
            panel("Messages that wait", {"{{topic}} {{partition}}": "max by (topic, partition) "
                                         f"(onceward_lag_messages{{{per_topic}}})"}),
            panel("Age of the oldest", {"{{topic}} {{partition}}": "max by (topic, partition) "
                                        f"(onceward_lag_seconds{{{per_topic}}})"}, "s"),
            panel("Stalled", {"{{topic}} {{partition}}": "max by (topic, partition) "
                              f"(onceward_partition_stalled{{{per_topic}}})"}),
            panel("Halted", {"{{topic}} {{reason}}": "sum by (topic, reason) "
                             f"(onceward_partitions_halted{{{per_topic}}})"}),
            panel("Paused", {"{{topic}}": "sum by (topic) "
                             f"(onceward_partitions_paused{{{per_topic}}})"}),
            panel("Offsets that are lost", {"{{topic}}": "sum by (topic) "
                                            f"(onceward_offsets_lost{{{per_topic}}})"})],
        "Dead letters and calls": [
            panel("Open dead letters", {"{{group}} {{topic}}": letters.format("open")}),
            panel("The oldest of them", {"{{group}} {{topic}}": letters.format("oldest_seconds")},
                  "s"),
            panel("Calls of a webhook", {
                "made again {{topic}}": rate("onceward_effects_again_total", per_topic, "topic"),
                "taken over {{topic}}": rate("onceward_leases_taken_over_total", per_topic,
                                             "topic"),
                "lost {{topic}}": rate("onceward_leases_lost_total", per_topic, "topic")},
                  "ops")]}


def front_door():
    requests = "onceward_http_requests_total"
    return {
        "Now": [
            stat("Routes without PostgreSQL",
                 f"count (onceward_http_postgres_connected{{{here}}} == 0) or vector(0)", bad=1),
            stat("Requests under way", f"sum (onceward_http_requests_under_way{{{here}}})"),
            stat("Connections", f"sum (onceward_http_connections{{{here}}})")],
        "Requests": [
            panel("Requests by status", {"{{status}}": rate(requests, per_route, "status")}, "ops",
                  stack=True),
            panel("Requests by route", {"{{route}}": rate(requests, per_route, "route")}, "ops"),
            panel("Share of 5xx", {
                "{{route}}": rate(requests, per_route + ', status=~"5.."', "route") + " / "
                + rate(requests, per_route, "route")}, "percentunit"),
            panel("Duration", quantiles("onceward_http_request_seconds", per_route, ("route",)),
                  "s", width=12),
            heatmap("Duration", "onceward_http_request_seconds", per_route),
            panel("Replayed", {"{{route}}": rate("onceward_http_replayed_total", per_route,
                                                 "route")}, "ops"),
            panel("Under way", {"{{route}}": "sum by (route) "
                                f"(onceward_http_requests_under_way{{{per_route}}})"}),
            panel("Refused, as too many are under way",
                  {"{{route}}": rate("onceward_http_route_full_total", per_route, "route")},
                  "ops")],
        "Targets and connections": [
            panel("Calls to upstreams", {"{{route}}": "sum by (route) "
                                         f"(onceward_http_upstream_calls{{{per_route}}})"}),
            panel("Transactions that ran into statement_timeout",
                  {"{{route}}": rate("onceward_http_statement_timeouts_total", per_route,
                                     "route")}, "ops"),
            panel("Keys in flight", {"{{ledger}} {{state}}": "max by (ledger, state) "
                                     f"(onceward_leases_in_flight{{{here}}})"}),
            panel("Connections", {"{{instance}}": f"onceward_http_connections{{{here}}}"}),
            panel("Clients that waited for a connection",
                  {"{{instance}}": rate("onceward_http_connections_full_total", here,
                                        "instance")}, "ops"),
            panel("Connections that were closed for them",
                  {"{{reason}}": rate("onceward_http_connections_closed_total", here, "reason")},
                  "ops")]}


def dashboards():
    """(uid and name of the file, title, choices, rows of panels)"""
    return [("onceward-fleet", "Onceward: fleet", [job, group], fleet()),
            ("onceward-topic", "Onceward: topics", [job, group, topic], one_topic()),
            ("onceward-http", "Onceward: front door", [job, route], front_door())]
