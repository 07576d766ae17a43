{{/* Fails if a policy of the values serves a schedulerName that kpolicy and the admission policy for status patches
refuse. A file that cannot be read here is left to kpolicy, which says what is wrong with it. */}}
{{- define "kpolicy.checkProfiles" -}}
{{- $served := include "kpolicy.schedulerNames" . | fromJsonArray -}}
{{- range $of, $files := dict "policy" .Values.policy.files "shadowPolicy" .Values.shadowPolicy.files -}}
{{- range $file, $text := $files -}}
{{- range $part := regexSplit "(?m)^---.*$" $text -1 -}}
{{- $document := fromYaml $part -}}
{{- $profiles := ternary (dig "spec" dict $document) $document (eq (dig "kind" "" $document) "SchedulingPolicy") -}}
{{- if kindIs "map" $profiles -}}
{{- range $profile := $profiles.profiles -}}
{{- if kindIs "map" $profile -}}
{{- if and $profile.schedulerName (not (has $profile.schedulerName $served)) -}}
{{- fail (printf "%s.files: %s serves %s, which is none of the schedulerNames %s" $of $file $profile.schedulerName (join ", " $served)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
