{{/* The rules of the first role in a file of deploy/kustomize: what kpolicy may do is written once.
Takes the chart's context and the file's name. */}}
{{- define "kpolicy.rules" -}}
{{- $text := .context.Files.Get (printf "kustomize/%s/cluster-role.yaml" .of) | required (printf "the chart has no file of %s" .of) -}}
{{- (index (splitList "\n---\n" $text) 0 | fromYaml).rules | toYaml -}}
{{- end -}}

{{/* A cluster role by such a file, and its binding to our account. */}}
{{- define "kpolicy.clusterRole" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ .name }}
  labels: {{- include "kpolicy.labels" .context | nindent 4 }}
rules:
  {{- include "kpolicy.rules" . | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ .name }}
  labels: {{- include "kpolicy.labels" .context | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ .name }}
subjects: {{- include "kpolicy.subjects" .context | nindent 2 }}
{{- end -}}
