{{/* What objects are called: by the release, so that two can live in one cluster; or as the values say. */}}
{{- define "kpolicy.name" -}}
{{- $own := .Values.nameOverride | default "kpolicy" -}}
{{- $name := .Release.Name -}}
{{- if not (contains $own $name) -}}{{- $name = printf "%s-%s" $name $own -}}{{- end -}}
{{- $name = .Values.fullnameOverride | default $name -}}
{{- $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* A label's value has no plus sign. */}}
{{- define "kpolicy.labels" -}}
{{ include "kpolicy.selector" . }}
app.kubernetes.io/part-of: kpolicy
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "kpolicy.selector" -}}
app.kubernetes.io/name: kpolicy
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "kpolicy.podSelector" -}}
{{ include "kpolicy.selector" . }}
app.kubernetes.io/component: scheduler
{{- end -}}

{{- define "kpolicy.subjects" -}}
- kind: ServiceAccount
  name: {{ include "kpolicy.name" . }}
  namespace: {{ .Release.Namespace }}
{{- end -}}

{{- define "kpolicy.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}{{ $image.repository }}@{{ $image.digest }}
{{- else -}}{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}{{- end -}}
{{- end -}}

{{/* As JSON, for `fromJsonArray`. */}}
{{- define "kpolicy.schedulerNames" -}}
{{- $replaces := eq .Values.mode "replacement" -}}
{{- $default := ternary (list "default-scheduler" "kpolicy") (list "kpolicy") $replaces -}}
{{- $names := .Values.schedulerNames | default $default -}}
{{- if and (not $replaces) (has "default-scheduler" $names) -}}
{{- fail "schedulerNames: two schedulers would serve default-scheduler; with mode=replacement one of them acts" -}}
{{- end -}}
{{- if and $replaces (not (has "default-scheduler" $names)) -}}
{{- fail "schedulerNames: a replacement serves default-scheduler" -}}
{{- end -}}
{{- $names | toJson -}}
{{- end -}}
