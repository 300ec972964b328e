{{- define "shiplift.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "shiplift.apiPorts" -}}
{{- $ports := list -}}
{{- range .Values.networkPolicy.apiPorts -}}
{{- $ports = append $ports (dict "port" (int .) "protocol" "TCP") -}}
{{- end -}}
{{- toJson $ports -}}
{{- end -}}
