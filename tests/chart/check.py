"""Renders the chart with each file of values and checks what comes out. tests/chart/run starts it:

    check.py HELM ONCEWARD MODELS     MODELS: a folder with the packages of package.json
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import kubernetes_validate
import yaml

here = pathlib.Path(__file__).parent
root = here.parent.parent
chart = root / "deploy/helm/onceward"
# The oldest that Chart.yaml admits, and the newest whose schemas are there.
versions = ["1.30", "1.37"]
operators = {"keda.sh/v1alpha1", "monitoring.coreos.com/v1"}
helm, onceward, models = sys.argv[1:4]
failures = []


def expect(right, what):
    if not right:
        failures.append(what)
        print("FAILED", what)


def template(values, version=versions[-1], extra=()):
    """What `helm template` makes of a dictionary of values, and what it says."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        yaml.safe_dump(values, file)
        file.flush()
        return subprocess.run(
            [helm, "template", "pay", chart, "--kube-version", version, "-f", file.name, *extra],
            capture_output=True, text=True, timeout=60)


def documents(values, **more):
    done = template(values, **more)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return [each for each in yaml.safe_load_all(done.stdout) if each]


def merged(one, two):
    if isinstance(one, dict) and isinstance(two, dict):
        return {**one, **{key: merged(one.get(key), value) for key, value in two.items()}}
    return two


def only(rendered, kind):
    found = [each for each in rendered if each["kind"] == kind]
    return found[0] if len(found) == 1 else None


def is_valid(name, rendered):
    foreign = []
    for document in rendered:
        if document["apiVersion"] in operators:
            foreign.append(document)
            continue
        try:
            for version in versions:
                kubernetes_validate.validate(document, version, strict=True)
        except Exception as error:  # it has several, of which one has no common base
            expect(False, f"{name}: {document['kind']}: {error}")
    checker = subprocess.run(["node", "models.mjs"], cwd=models, input=json.dumps(foreign),
                             capture_output=True, text=True, timeout=60)
    expect(checker.returncode == 0, f"{name}: {checker.stdout}{checker.stderr}")
    return len(rendered)


def secrets_of(pod):
    return {entry["valueFrom"]["secretKeyRef"]["name"] + "/" +
            entry["valueFrom"]["secretKeyRef"]["key"]
            for container in pod["containers"] for entry in container["env"]
            if "secretKeyRef" in entry.get("valueFrom", {})}


def fits_together(name, values, rendered):
    """What no schema sees."""
    stateful = only(rendered, "StatefulSet")
    pod = stateful["spec"]["template"]
    labels = pod["metadata"]["labels"].items()
    container = pod["spec"]["containers"][0]
    ports = {port["name"] for port in container["ports"]}
    for document in rendered:
        spec = document.get("spec", {})
        selector = {"Service": spec.get("selector"),
                    "PodDisruptionBudget": spec.get("selector", {}).get("matchLabels"),
                    "NetworkPolicy": spec.get("podSelector", {}).get("matchLabels"),
                    "StatefulSet": spec.get("selector", {}).get("matchLabels")
                    }.get(document["kind"])
        if selector is not None:
            expect(selector.items() <= labels, f"{name}: {document['kind']} selects no pod")
        if document["kind"] == "Service":
            expect({port["targetPort"] for port in spec["ports"]} <= ports, f"{name}: its ports")
        most = 52 if document["kind"] == "StatefulSet" else 63
        expect(len(document["metadata"]["name"]) <= most, f"{name}: a name that is too long")
    monitor = only(rendered, "ServiceMonitor")
    if monitor:
        seen = [each for each in rendered if each["kind"] == "Service" and
                monitor["spec"]["selector"]["matchLabels"].items()
                <= each["metadata"]["labels"].items()]
        expect(len(seen) == 1 and seen[0]["spec"]["clusterIP"] == "None",
               f"{name}: the ServiceMonitor sees not just the pods' own Service")
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        expect(container[probe]["httpGet"]["port"] in ports, f"{name}: {probe}")
    for spec in [pod["spec"]] + [each["spec"]["template"]["spec"] for each in rendered
                                 if each["kind"] == "Job"]:
        expect(spec["securityContext"]["runAsNonRoot"] and
               spec["securityContext"]["runAsUser"] == 65532 and
               spec["containers"][0]["securityContext"]["readOnlyRootFilesystem"] and
               spec["containers"][0]["securityContext"]["capabilities"] == {"drop": ["ALL"]},
               f"{name}: the restricted standard")
        volumes = {volume["name"] for volume in spec["volumes"]}
        mounts = {mount["name"] for mount in spec["containers"][0]["volumeMounts"]}
        expect(mounts <= volumes, f"{name}: a mount without a volume")
        names = [entry["name"] for entry in spec["containers"][0]["env"]]
        expect(len(names) == len(set(names)), f"{name}: a variable twice")
    job = only(rendered, "Job")
    if job:
        mine = secrets_of(pod["spec"])
        owners = values.get("migration", {}).get("secret", {"name": "onceward-owner", "key": "dsn"})
        owner = f"{owners['name']}/{owners['key']}"
        expect(owner not in mine and owner in secrets_of(job["spec"]["template"]["spec"]),
               f"{name}: the owner's secret is the Job's alone")
        used = job["spec"]["template"]["spec"]["volumes"][0]["configMap"]["name"]
        expect(any(each["kind"] == "ConfigMap" and each["metadata"]["name"] == used and
                   ("annotations" in each["metadata"]) == ("annotations" in job["metadata"])
                   for each in rendered), f"{name}: the Job's configuration is there before it")
    scaled = only(rendered, "ScaledObject")
    expect((scaled is None) == ("replicas" in stateful["spec"]), f"{name}: two who set replicas")


def configuration_is_good(name, rendered):
    """`onceward check` of what the pod reads, with the variables that the pod has."""
    data = next(each["data"] for each in rendered
                if each["kind"] == "ConfigMap" and "onceward.yaml" in each["data"]
                and "-migrate" not in each["metadata"]["name"])
    container = only(rendered, "StatefulSet")["spec"]["template"]["spec"]["containers"][0]
    given = {entry["name"]: f"host=127.0.0.1 dbname={entry['name']}"
             if entry["name"].endswith("DSN") else "x" for entry in container["env"]}
    with tempfile.TemporaryDirectory() as folder:
        for file, text in data.items():
            pathlib.Path(folder, file).write_text(text)
        done = subprocess.run([onceward, "check", "--strict-env", "-c", folder + "/onceward.yaml"],
                              env={"PATH": os.environ["PATH"], **given}, capture_output=True,
                              text=True, timeout=60)
    expect(done.returncode == 0, f"{name}: onceward check: {done.stdout}{done.stderr}")


def stateful_of(values):
    return only(documents(values), "StatefulSet")


def checks_by_value(minimal, complete):
    first = stateful_of(minimal)["spec"]["template"]
    changed = merged(minimal, {"config": {"batch": {"messages": 100}}})
    expect(first["metadata"]["annotations"]["checksum/config"] !=
           stateful_of(changed)["spec"]["template"]["metadata"]["annotations"]["checksum/config"],
           "another configuration restarts the pods")
    grace = "terminationGracePeriodSeconds"
    for more, seconds in [({}, 90), ({"drain_timeout": "2m"}, 200), ({"drain_timeout": "1ms"}, 81),
                          ({"postgres": {"statement_timeout": "1h"}}, 3630)]:
        got = stateful_of(merged(minimal, {"config": more}))["spec"]["template"]["spec"][grace]
        expect(got == seconds, f"{more}: {got} seconds of grace, not {seconds}")
    spec = only(documents(complete), "ScaledObject")["spec"]
    # 46 partitions, four workers in each pod.
    expect(spec["maxReplicaCount"] == 12, f"pods up to {spec['maxReplicaCount']}, not 12")
    expect([trigger["metadata"]["topic"] for trigger in spec["triggers"]] == ["orders", "visits"],
           "a trigger for each topic")
    expect(spec["triggers"][0]["metadata"]["lagThreshold"] == "2000000", "a number as Go writes it")
    groups = only(documents(complete), "PrometheusRule")["spec"]["groups"]
    rules = [rule["alert"] for group in groups for rule in group["rules"]]
    known = re.findall(r"alert: (\w+)", (root / "docs/alerts.yaml").read_text())
    expect(sorted(rules + ["OncewardConflicts"]) == sorted(known), "the alerts of docs/alerts.yaml")
    matchers = 'job="pay-onceward-admin",namespace="default"'
    given = {rule["alert"]: rule["expr"] for group in yaml.safe_load(
        (root / "docs/alerts.yaml").read_text())["groups"] for rule in group["rules"]}
    for rule in [rule for group in groups for rule in group["rules"]]:
        metrics = re.findall(r"\b(?:onceward|process)_\w+(\S*)", rule["expr"])
        expect(metrics and all(after.startswith("{" + matchers) for after in metrics),
               f"{rule['alert']} is about other releases too: {rule['expr']}")
        rest = rule["expr"].replace("{" + matchers + "}", "").replace(matchers + ",", "")
        expect(rest.split() == given[rule["alert"]].split(), f"{rule['alert']}: {rule['expr']}")
    own = merged(complete, {"prometheusRule": {"matchers": 'job="mine"'}})
    text = yaml.safe_dump(only(documents(own), "PrometheusRule"))
    expect('{job="mine"}' in text and "namespace=" not in text, "matchers of one's own")
    shown = [each for each in documents(complete) if each["kind"] == "ConfigMap"
             and each["metadata"]["labels"].get("grafana_dashboard") == "1"]
    expect([sorted(each["data"]) for each in shown] ==
           [sorted(file.name for file in (root / "deploy/grafana").glob("*.json"))],
           "the dashboards of deploy/grafana")
    for each in shown:
        for name, text in each["data"].items():
            expect(json.loads(text)["uid"] + ".json" == name, f"{name} is a dashboard")
    expect(not any("grafana_dashboard" in each["metadata"].get("labels", {})
                   for each in documents(minimal)), "dashboards are off by default")
    job = merged(minimal, {"migration": {"mode": "job"}})
    names = {only(documents(merged(job, more)), "Job")["metadata"]["name"]
             for more in ({}, {"image": {"tag": "2"}}, {"config": {"group": "other"}})}
    expect(len(names) == 3, "a plain Job of the same name for something else")


def admin_port_with_tls(minimal, complete):
    """Probes and scrapes speak as the admin port does."""
    tls = {"config": {"admin": {"tls": {"certificate": "/tls/tls.crt", "key": "/tls/tls.key"}}}}
    monitor = {"serviceMonitor": {
        "enabled": True,
        "tlsConfig": {"ca": {"secret": {"name": "ca", "key": "ca.crt"}}, "serverName": "shop"},
        "authorization": {"credentials": {"name": "prometheus", "key": "token"}}}}
    text = {"config": yaml.safe_dump(merged(minimal["config"], {
        "admin": {"listen": "0.0.0.0:9464", **tls["config"]["admin"]},
        "kafka": {"instance_id": "${POD_NAME}"}}))}
    for name, values, wanted in [("plain", complete, None), ("TLS", merged(complete, tls), "HTTPS"),
                                 ("TLS in a file", merged(minimal, text), "HTTPS")]:
        container = stateful_of(values)["spec"]["template"]["spec"]["containers"][0]
        schemes = {container[probe]["httpGet"].get("scheme")
                   for probe in ("startupProbe", "livenessProbe", "readinessProbe")}
        expect(schemes == {wanted}, f"{name}: the probes speak {schemes}, not {wanted}")
    rendered = documents(merged(merged(minimal, tls), monitor))
    is_valid("TLS", rendered)
    endpoint = only(rendered, "ServiceMonitor")["spec"]["endpoints"][0]
    expect(endpoint.get("scheme") == "https", "TLS: Prometheus scrapes in clear")
    for part in ("tlsConfig", "authorization"):
        expect(endpoint.get(part) == monitor["serviceMonitor"][part], f"TLS: its {part}")
    plain = only(documents(complete), "ServiceMonitor")["spec"]["endpoints"][0]
    expect(not {"scheme", "tlsConfig", "authorization"} & set(plain),
           "plain: Prometheus is told of TLS or of a token")


def refusals(minimal):
    cases = yaml.safe_load((here / "refused.yaml").read_text())
    for case in cases:
        done = template(merged(minimal, case["values"]))
        said = " ".join(done.stderr.split())
        expect(done.returncode != 0 and case["says"] in said, f"{case}: {said}")
    return len(cases)


def values_are_described():
    """values.yaml and its schema name the same values, each with a description."""
    schema = json.loads((chart / "values.schema.json").read_text())
    values = yaml.safe_load((chart / "values.yaml").read_text())

    def compare(path, node, value):
        node = schema["definitions"][node["$ref"].split("/")[-1]] if "$ref" in node else node
        expect(path == "" or node.get("description"), f"{path} has no description")
        if "properties" in node and isinstance(value, dict):
            names = set(node["properties"]) - ({"global"} if path == "" else set())
            expect(names == set(value), f"{path or 'values'}: {names ^ set(value)}")
            for key in names & set(value):
                compare(f"{path}.{key}".strip("."), node["properties"][key], value[key])

    compare("", schema, values)


def versions_agree():
    number = re.search(r"project\(onceward VERSION (\S+)", (root / "CMakeLists.txt").read_text())[1]
    about = yaml.safe_load((chart / "Chart.yaml").read_text())
    expect(about["version"] == about["appVersion"] == number, "Chart.yaml has another version")


def main():
    files = {name: yaml.safe_load((here / name).read_text())
             for name in ("minimal.yaml", "complete.yaml", "file.yaml", "least.yaml")}
    count = 0
    for name, values in files.items():
        lint = subprocess.run([helm, "lint", "--strict", chart, "-f", here / name],
                              capture_output=True, text=True, timeout=60)
        expect(lint.returncode == 0, f"{name}: {lint.stdout}{lint.stderr}")
        rendered = documents(values)
        count += is_valid(name, rendered)
        fits_together(name, values, rendered)
        configuration_is_good(name, rendered)
    minimal = files["minimal.yaml"]
    checks_by_value(minimal, files["complete.yaml"])
    admin_port_with_tls(minimal, files["complete.yaml"])
    refused = refusals(minimal)
    old = template(minimal, version="1.29.0")
    expect("incompatible" in old.stderr, "a Kubernetes that is too old")
    values_are_described()
    versions_agree()
    print(f"{count} documents of {len(files)} files of values fit Kubernetes {versions}; "
          f"{refused} wrong values are refused; failures: {len(failures)}")
    sys.exit(1 if failures else 0)


main()
