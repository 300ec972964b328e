{{- define "shiplift.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "shiplift.egressPorts" -}}
{{- $ports := list -}}
{{- range concat .Values.networkPolicy.apiPorts (default list .Values.networkPolicy.egressPorts) -}}
{{- $ports = append $ports (dict "port" (int .) "protocol" "TCP") -}}
{{- end -}}
{{- toJson $ports -}}
{{- end -}}

{{- define "shiplift.tls" -}}
{{- if .Values.metrics.tlsSecret }}--tls-folder=/tls{{ else }}--tls{{ end -}}
{{- end -}}

{{- define "shiplift.volumes" -}}
{{- $volumes := list -}}
{{- with .Values.metrics.tlsSecret -}}
{{- $volumes = append $volumes (dict "name" "tls" "secret" (dict "secretName" .)) -}}
{{- end -}}
{{- toJson $volumes -}}
{{- end -}}

{{- define "shiplift.volumeMounts" -}}
{{- $mounts := list -}}
{{- if .Values.metrics.tlsSecret -}}
{{- $mounts = append $mounts (dict "name" "tls" "mountPath" "/tls" "readOnly" true) -}}
{{- end -}}
{{- toJson $mounts -}}
{{- end -}}

{{- /* the rows of the operator and of the layers that run */ -}}
{{- define "shiplift.dashboard" -}}
{{- $dashboard := .Files.Get "files/dashboard.json" | fromJson -}}
{{- $shown := false -}}
{{- $panels := list -}}
{{- range $dashboard.panels -}}
{{- if eq .type "row" -}}
{{- $shown = or (eq .title "operator") (has .title $.Values.layers) -}}
{{- end -}}
{{- if $shown -}}
{{- $panels = append $panels . -}}
{{- end -}}
{{- end -}}
{{- set $dashboard "panels" $panels | toPrettyJson -}}
{{- end -}}

{{- /* how Prometheus proves itself, and whether it verifies who answers */ -}}
{{- define "shiplift.trust" -}}
{{- $tls := dict "insecureSkipVerify" true -}}
{{- with .Values.metrics.tlsSecret -}}
{{- $authority := dict "secret" (dict "name" . "key" "ca.crt") -}}
{{- $tls = dict "serverName" (printf "shiplift.%s.svc" $.Release.Namespace) "ca" $authority -}}
{{- end -}}
{{- $trust := dict "tlsConfig" $tls -}}
{{- with .Values.metrics.tokenSecret -}}
{{- $_ := set $trust "authorization" (dict "credentials" (dict "name" . "key" "token")) -}}
{{- else -}}
{{- $_ := set $trust "bearerTokenFile" "/var/run/secrets/kubernetes.io/serviceaccount/token" -}}
{{- end -}}
{{- toJson $trust -}}
{{- end -}}
