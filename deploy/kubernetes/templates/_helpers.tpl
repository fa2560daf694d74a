{{- define "bellbuoy.name" -}}
{{- if contains "bellbuoy" .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-bellbuoy{{ end }}
{{- end }}

{{- define "bellbuoy.selector" -}}
app.kubernetes.io/name: bellbuoy
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "bellbuoy.labels" -}}
{{ include "bellbuoy.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "bellbuoy.secret" -}}
{{ .Values.secret.existing | default (include "bellbuoy.name" .) }}
{{- end }}

{{- /* The memory limit of resources in MiB. Nothing if it is missing or has another unit than Mi and Gi. */}}
{{- define "bellbuoy.mebibytes" -}}
{{- with .limits }}
{{- $memory := toString .memory }}
{{- if regexMatch "^[0-9]+Mi$" $memory }}{{ trimSuffix "Mi" $memory }}{{ end }}
{{- if regexMatch "^[0-9]+Gi$" $memory }}{{ mul 1024 (trimSuffix "Gi" $memory) }}{{ end }}
{{- end }}
{{- end }}
