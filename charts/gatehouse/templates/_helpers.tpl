{{- define "gatehouse.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "gatehouse.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: server
{{- end -}}

{{/* Labels of everything. The dictionary has the root and the component. */}}
{{- define "gatehouse.labels" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end -}}

{{- define "gatehouse.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}{{ .repository }}@{{ .digest }}{{- else -}}{{ .repository }}:{{ default $.Chart.AppVersion .tag }}{{- end -}}
{{- end -}}
{{- end -}}

{{- define "gatehouse.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}{{ default (include "gatehouse.fullname" .) .Values.serviceAccount.name }}{{- else -}}{{ default "default" .Values.serviceAccount.name }}{{- end -}}
{{- end -}}

{{/* The port for tools that speak PostgreSQL's protocol; empty where settings.wire_port opens none. */}}
{{- define "gatehouse.wirePort" -}}
{{- $port := toString (default "off" .Values.settings.wire_port) -}}
{{- if and (ne $port "off") (ne $port "auto") -}}{{ $port }}{{- end -}}
{{- end -}}

{{- define "gatehouse.isPostgres" -}}
{{- if eq .Values.database.engine "postgresql" -}}true{{- end -}}
{{- end -}}

{{/* What every command needs to reach the data. */}}
{{- define "gatehouse.dataEnv" -}}
- name: GATEHOUSE_MASTER_KEY
  valueFrom:
    secretKeyRef:
      name: {{ .Values.masterKey.existingSecret }}
      key: {{ .Values.masterKey.key }}
{{- if include "gatehouse.isPostgres" . }}
- name: GATEHOUSE_DATABASE_URL
  valueFrom:
    secretKeyRef:
      name: {{ .Values.database.existingSecret }}
      key: {{ .Values.database.key }}
{{- end }}
{{- end -}}

{{/* What all pods have in common: no rights, no token of the API, no variables for Services. */}}
{{- define "gatehouse.podSecurity" -}}
automountServiceAccountToken: false
# Otherwise Kubernetes describes Services named gatehouse… in variables that begin like settings.
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "gatehouse.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop:
    - ALL
{{- end -}}

{{/* Mistakes that the schema cannot express. */}}
{{- define "gatehouse.check" -}}
{{- $sqlite := not (include "gatehouse.isPostgres" .) -}}
{{- if and $sqlite .Values.autoscaling.enabled -}}
{{- fail "autoscaling needs database.engine postgresql: SQLite has one pod" -}}
{{- end -}}
{{- if and .Values.autoscaling.enabled (gt (int .Values.autoscaling.minReplicas) (int .Values.autoscaling.maxReplicas)) -}}
{{- fail "autoscaling.minReplicas is greater than autoscaling.maxReplicas" -}}
{{- end -}}
{{- if and .Values.metrics.enabled (not .Values.networkPolicy.enabled) (not .Values.metrics.existingSecret) -}}
{{- fail "metrics would be open to the whole cluster: enable networkPolicy, name a token in metrics.existingSecret, or set metrics.enabled to false" -}}
{{- end -}}
{{- if and .Values.metrics.serviceMonitor.enabled (not .Values.metrics.enabled) -}}
{{- fail "metrics.serviceMonitor needs metrics.enabled" -}}
{{- end -}}
{{- end -}}
