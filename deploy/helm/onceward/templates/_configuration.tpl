{{/* What the configuration says, as YAML: the given file, or the given mapping with what a pod
     needs. What the mapping has wins. */}}
{{- define "onceward.config" -}}
{{- $given := required "config is missing: a mapping, or --set-file config=FILE" .Values.config -}}
{{- if kindIs "string" $given -}}
{{- $read := fromYaml $given -}}
{{- if hasKey $read "Error" }}{{ fail (printf "config is no YAML: %s" $read.Error) }}{{ end -}}
{{- toYaml $read -}}
{{- else -}}
{{- $needed := dict
      "postgres" (dict "dsn" "${ONCEWARD_DSN}")
      "admin" (dict "listen" "0.0.0.0:9464")
      "logging" (dict "format" "json") -}}
{{- if and .Values.staticMembership $given.topics -}}
{{- $_ := set $needed "kafka" (dict "instance_id" "${POD_NAME}") -}}
{{- end -}}
{{- if .Values.frontDoor.enabled -}}
{{- $_ := set $needed "http" (dict "listen" "0.0.0.0:8080") -}}
{{- end -}}
{{- toYaml (merge (deepCopy $given) $needed) -}}
{{- end -}}
{{- end }}

{{/* The text of the file: a given one stays as it is, with its comments. */}}
{{- define "onceward.configText" -}}
{{- if kindIs "string" .Values.config -}}{{ .Values.config }}
{{- else -}}{{ include "onceward.config" . }}
{{- end -}}
{{- end }}

{{- define "onceward.data" -}}
onceward.yaml: |
{{- include "onceward.configText" . | nindent 2 }}
{{- range $name, $text := .Values.configFiles }}
{{ $name }}: |
{{- $text | nindent 2 }}
{{- end }}
{{- end }}

{{/* Call with (list ADDRESS OPTION): the port that a pod listens on, for all addresses. */}}
{{- define "onceward.port" -}}
{{- $address := toString (index . 0) -}}
{{- $option := index . 1 -}}
{{- if regexMatch "^(127\\.|localhost:|\\[::1\\])" $address }}
{{- fail (printf "%s is %s: nothing outside the pod reaches it; write 0.0.0.0:PORT" $option
      $address) }}
{{- end -}}
{{- $port := regexFind "[1-9][0-9]*$" $address -}}
{{- if not (regexMatch ":[1-9][0-9]*$" $address) }}
{{- fail (printf "%s is %s: the chart needs 0.0.0.0:PORT" $option $address) }}
{{- end -}}
{{ $port }}
{{- end }}
{{- define "onceward.adminPort" -}}
{{- $config := include "onceward.config" . | fromYaml -}}
{{- $admin := default dict $config.admin -}}
{{- $listen := ternary $admin.listen "127.0.0.1:9464" (hasKey $admin "listen") -}}
{{ include "onceward.port" (list $listen "admin.listen") }}
{{- end }}
{{/* Not empty if the admin port speaks TLS: then it speaks nothing else. */}}
{{- define "onceward.adminTls" -}}
{{- $config := include "onceward.config" . | fromYaml -}}
{{- if (default dict $config.admin).tls }}true{{ end -}}
{{- end }}
{{- define "onceward.probeScheme" -}}
{{- if include "onceward.adminTls" . }}, scheme: HTTPS{{ end -}}
{{- end }}
{{- define "onceward.frontDoorPort" -}}
{{- $config := include "onceward.config" . | fromYaml -}}
{{- $http := default dict $config.http -}}
{{- if not $http.routes }}{{ fail "frontDoor.enabled, and config has no http.routes" }}{{ end -}}
{{ include "onceward.port" (list (default "127.0.0.1:8080" $http.listen) "http.listen") }}
{{- end }}

{{/* Call with (list DURATION OPTION): whole seconds, rounded up. */}}
{{- define "onceward.seconds" -}}
{{- $duration := toString (index . 0) -}}
{{- if not (regexMatch "^[0-9]+(ms|s|m|h|d)$" $duration) }}
{{- fail (printf "%s is %s: give terminationGracePeriodSeconds, as the chart cannot calculate it"
      (index . 1) $duration) }}
{{- end -}}
{{- $number := regexFind "^[0-9]+" $duration | int64 -}}
{{- $unit := regexFind "[a-z]+$" $duration -}}
{{- if eq $unit "ms" -}}{{ div (add $number 999) 1000 }}
{{- else -}}{{ mul $number (get (dict "s" 1 "m" 60 "h" 3600 "d" 86400) $unit) }}
{{- end -}}
{{- end }}

{{- define "onceward.preStop" -}}
{{ ternary .Values.frontDoor.preStopSeconds 0 .Values.frontDoor.enabled | int }}
{{- end }}

{{/* By docs/operations/deployment.md a process ends at the latest after the sum of drain_timeout,
     the longest upstream.timeout, postgres.statement_timeout and 15 seconds. */}}
{{- define "onceward.grace" -}}
{{- $config := include "onceward.config" . | fromYaml -}}
{{- $drain := default "10s" $config.drain_timeout -}}
{{- $stop := include "onceward.preStop" . | int64 -}}
{{- if kindIs "invalid" .Values.terminationGracePeriodSeconds -}}
{{- $postgres := default dict $config.postgres -}}
{{- $call := 0 -}}
{{- range (default dict $config.http).routes -}}
{{- with .upstream -}}
{{- $one := include "onceward.seconds"
      (list (default "10s" .timeout) "http.routes[].upstream.timeout") | int64 -}}
{{- $call = max $call $one -}}
{{- end -}}
{{- end -}}
{{- add (include "onceward.seconds" (list $drain "drain_timeout") | int64) $call $stop 20
      (include "onceward.seconds"
        (list (default "60s" $postgres.statement_timeout) "postgres.statement_timeout") | int64) -}}
{{- else -}}
{{- if regexMatch "^[0-9]+(ms|s|m|h|d)$" (toString $drain) -}}
{{- $least := add $stop (include "onceward.seconds" (list $drain "drain_timeout") | int64) -}}
{{- if le (int64 .Values.terminationGracePeriodSeconds) $least }}
{{- fail (printf "terminationGracePeriodSeconds is %d, and a pod drains for up to %d seconds"
      (int64 .Values.terminationGracePeriodSeconds) $least) }}
{{- end -}}
{{- end -}}
{{ int64 .Values.terminationGracePeriodSeconds }}
{{- end -}}
{{- end }}

{{/* What would go wrong later without a message. */}}
{{- define "onceward.checks" -}}
{{- $config := include "onceward.config" . | fromYaml -}}
{{- $static := hasKey (default dict $config.kafka) "instance_id" -}}
{{- if and .Values.staticMembership $config.topics (not $static) }}
{{- fail (print "kafka.instance_id is missing: write `instance_id: ${POD_NAME}` into the file, or "
      "set staticMembership=false") }}
{{- end -}}
{{- if and (eq .Values.command "serve") .Values.autoscaling.enabled }}
{{- fail "autoscaling is by the lag of topics, which `serve` does not read" }}
{{- end -}}
{{- end }}
