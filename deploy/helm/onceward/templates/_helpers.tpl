{{- define "onceward.name" -}}
{{ default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{/* 40: a StatefulSet's pods carry its name, a hash and a number in labels of 63 characters. */}}
{{- define "onceward.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}{{ .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains $name .Release.Name -}}{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else -}}{{ printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "onceward.selector" -}}
app.kubernetes.io/name: {{ include "onceward.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: worker
{{- end }}

{{/* Call with (list CONTEXT COMPONENT). */}}
{{- define "onceward.labels" -}}
{{- $top := index . 0 -}}
helm.sh/chart: {{ printf "%s-%s" $top.Chart.Name $top.Chart.Version }}
app.kubernetes.io/name: {{ include "onceward.name" $top }}
app.kubernetes.io/instance: {{ $top.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
app.kubernetes.io/version: {{ $top.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: onceward
app.kubernetes.io/managed-by: {{ $top.Release.Service }}
{{- end }}

{{- define "onceward.serviceAccount" -}}
{{- $own := ternary (include "onceward.fullname" .) "default" .Values.serviceAccount.create -}}
{{ default $own .Values.serviceAccount.name }}
{{- end }}

{{- define "onceward.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}{{ .repository }}@{{ .digest }}
{{- else -}}{{ .repository }}:{{ default $.Chart.AppVersion .tag }}
{{- end }}
{{- end }}
{{- end }}

{{/* The restricted Pod Security Standard. The program writes no file. */}}
{{- define "onceward.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end }}
{{- define "onceward.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{/* Call with (list CONTEXT SECRET OVERRIDES): each name once, as later ones would win anyway. */}}
{{- define "onceward.env" -}}
{{- $top := index . 0 -}}
{{- $secret := index . 1 -}}
{{- $overrides := index . 2 -}}
{{- $names := list -}}
{{- range $overrides }}{{ $names = append $names .name }}{{ end -}}
- name: POD_NAME
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
- name: ONCEWARD_DSN
  valueFrom:
    secretKeyRef: {name: {{ $secret.name }}, key: {{ $secret.key }}}
{{- range $top.Values.extraEnv }}
{{- if not (has .name $names) }}
- {{ toYaml . | nindent 2 | trim }}
{{- end }}
{{- end }}
{{- range $overrides }}
- {{ toYaml . | nindent 2 | trim }}
{{- end }}
{{- end }}

{{- define "onceward.mounts" -}}
- {name: config, mountPath: /etc/onceward, readOnly: true}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}
