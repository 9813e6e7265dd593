#!/usr/bin/env python3
"""Checks the dashboards of deploy/grafana and the rules of docs/alerts.yaml:

    expressions.py PROMTOOL

Dashboards are what their panels make, and have the shape that Grafana reads. Each expression of
both parses, and names only metrics and labels of docs/metrics.md. Nothing here needs Grafana.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parents[2]
of_scrapes = {"job", "instance", "le"}
keywords = {"and", "or", "unless", "on", "ignoring", "group_left", "group_right", "by", "without",
            "offset", "bool", "inf", "nan"}
failures = []


def expect(right, what):
    if not right:
        failures.append(what)
        print("FAILED", what)


def listed_metrics():
    """{name: (type, labels)}"""
    page = (root / "docs/metrics.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| ([^|]*) \|", page, re.MULTILINE)
    return {name: (kind, set(re.findall(r"`(\w+)`", labels))) for name, kind, labels in rows}


def names_in(expression):
    """The metrics and the labels that an expression names."""
    labels = set()
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', '""', expression)
    for inside in re.findall(r"\{([^}]*)\}", bare):
        labels |= set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", inside))
    bare = re.sub(r"\{[^}]*\}", "", bare)
    grouping = r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)"
    for inside in re.findall(grouping, bare):
        labels |= set(re.findall(r"\w+", inside))
    bare = re.sub(r"\[[^\]]*\]", "", re.sub(grouping, "", bare))
    found = re.findall(r"\b[a-zA-Z_:][\w:]*\b(?!\s*\()", bare)
    return {name for name in found if name.lower() not in keywords}, labels


def check_names(where, expression, listed):
    metrics, labels = names_in(expression)
    known = set(of_scrapes)
    expect(metrics, f"{where}: no metric in {expression}")
    for metric in metrics:
        base = re.sub(r"_(bucket|sum|count)$", "", metric)
        kind, of_metric = listed.get(metric) or listed.get(base) or (None, set())
        expect(kind and (kind == "histogram") == (metric not in listed),
               f"{where}: {metric} is not in docs/metrics.md")
        known |= of_metric
    expect(labels <= known, f"{where}: none of its metrics has {sorted(labels - known)}")


def expressions_of_rules(text):
    """{alert: expression} of the YAML that docs/alerts.yaml is written in."""
    found = {}
    for rule in text.split("- alert: ")[1:]:
        expression = re.search(r"\n {8}expr:(.*?)\n {8}\w+:", rule, re.DOTALL)[1]
        lines = [line.split("  #")[0].strip() for line in expression.split("\n")]
        found[rule.split()[0]] = " ".join(line for line in lines if line not in ("", ">-"))
    return found


def check_layout(name, dashboard):
    expect(isinstance(dashboard["schemaVersion"], int) and dashboard["schemaVersion"] >= 36,
           f"{name}: its schemaVersion")
    expect(dashboard["uid"] == name and len(name) <= 40, f"{name}: its uid is not its name")
    panels = dashboard["panels"]
    ids = [panel["id"] for panel in panels]
    expect(len(ids) == len(set(ids)), f"{name}: an id of two panels")
    taken = set()
    for panel in panels:
        place = panel["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                 for y in range(place["y"], place["y"] + place["h"])}
        expect(cells and place["x"] >= 0 and place["x"] + place["w"] <= 24,
               f"{name}: {panel['title']} is outside")
        expect(not cells & taken, f"{name}: {panel['title']} overlaps another panel")
        taken |= cells
        if panel["type"] == "row":
            continue
        refs = [target["refId"] for target in panel["targets"]]
        expect(refs and len(refs) == len(set(refs)), f"{name}: targets of {panel['title']}")
        expect(panel["datasource"]["uid"] == "${datasource}" and panel["description"],
               f"{name}: {panel['title']} has no source or description")


def check_variables(name, dashboard, listed):
    variables = {each["name"]: each for each in dashboard["templating"]["list"]}
    used = set(re.findall(r"\$\{?(\w+)", json.dumps(dashboard))) - {"__rate_interval", "__all"}
    expect(used <= set(variables), f"{name}: no variable is {sorted(used - set(variables))}")
    for variable in variables.values():
        if variable["type"] != "query":
            continue
        metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)",
                                     variable["query"]["query"]).groups()
        check_names(f"{name}: variable {label}", f"{metric}{{{label}=\"\"}}", listed)


def expressions_of_dashboards(listed):
    found = {}
    files = sorted((root / "deploy/grafana").glob("*.json"))
    expect(len(files) == 3, "the dashboards of deploy/grafana")
    for file in files:
        dashboard = json.loads(file.read_text())
        check_layout(file.stem, dashboard)
        check_variables(file.stem, dashboard, listed)
        for panel in dashboard["panels"]:
            for target in panel.get("targets", []):
                where = f"{file.stem}: {panel['title']} {target['refId']}"
                found[where] = target["expr"].replace("$__rate_interval", "5m")
    return found


def check_syntax(promtool, expressions):
    rules = [{"record": f"expression_{number}", "expr": expression}
             for number, expression in enumerate(expressions.values())]
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        # JSON is YAML.
        json.dump({"groups": [{"name": "expressions", "rules": rules}]}, file)
        file.flush()
        done = subprocess.run([promtool, "check", "rules", file.name], capture_output=True,
                              text=True, timeout=60)
    expect(done.returncode == 0, done.stdout + done.stderr)
    expect(f"{len(rules)} rules found" in done.stdout, done.stdout)


def main():
    made = subprocess.run([root / "deploy/grafana/generate", "--check"], capture_output=True,
                          text=True, timeout=60)
    expect(made.returncode == 0, made.stdout + made.stderr)
    listed = listed_metrics()
    rules = expressions_of_rules((root / "docs/alerts.yaml").read_text())
    panels = expressions_of_dashboards(listed)
    expressions = {**rules, **panels}
    for where, expression in expressions.items():
        check_names(where, expression, listed)
    check_syntax(sys.argv[1], expressions)
    print(f"{len(rules)} rules and {len(panels)} expressions of panels, {len(listed)} metrics; "
          f"failures: {len(failures)}")
    sys.exit(1 if failures else 0)


main()
