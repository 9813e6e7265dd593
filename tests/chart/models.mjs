// Checks kinds that are not Kubernetes' own: reads documents as a JSON list from standard input and
// prints what is wrong with them. Each must be of a kind that is known here. tests/chart/run copies
// this file to where its packages are.
import { readFileSync } from "node:fs";
import { ScaledObject } from "@kubernetes-models/keda/keda.sh/v1alpha1";
import { PrometheusRule, ServiceMonitor }
  from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1";

const kinds = { PrometheusRule, ScaledObject, ServiceMonitor };
let wrong = 0;
for (const document of JSON.parse(readFileSync(0, "utf8"))) {
  try {
    new kinds[document.kind](document).validate();
  } catch (error) {
    console.log(`${document.kind} ${document.metadata?.name}: ${error.message}`);
    wrong = 1;
  }
}
process.exit(wrong);
