{{/* The prefix of all names. A CronJob's name has at most 52 characters, the longest suffix 10. */}}
{{- define "holdfast.fullname" -}}
{{- $name := .Release.Name -}}
{{- if not (contains .Chart.Name $name) }}{{ $name = printf "%s-%s" $name .Chart.Name }}{{ end -}}
{{- .Values.fullnameOverride | default $name | trunc 40 | trimSuffix "-" -}}
{{- end }}

{{- define "holdfast.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "holdfast.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end }}

{{/* The labels that select all pods of the release. */}}
{{- define "holdfast.releaseLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* (list $ "api"): the labels that select the pods of a component. */}}
{{- define "holdfast.selector" -}}
{{ include "holdfast.releaseLabels" (first .) }}
app.kubernetes.io/component: {{ last . }}
{{- end }}

{{/* (list $ "api"): the labels of an object of a component. */}}
{{- define "holdfast.labels" -}}
{{- $root := first . -}}
{{ include "holdfast.selector" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ $root.Chart.Name }}-{{ $root.Chart.Version }}
{{- end }}

{{/* (list $ "api"): the metadata of a pod. New settings start new pods. Prometheus finds pods by the annotations where no PodMonitor does. */}}
{{- define "holdfast.podMetadata" -}}
{{- $root := first . -}}
labels:
  {{- include "holdfast.labels" . | nindent 2 }}
  {{- with $root.Values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
annotations:
  checksum/config: {{ printf "%s%s" (include "holdfast.config" $root) (include "holdfast.secrets" $root) | sha256sum }}
  {{- if and (has (last .) (list "api" "worker")) (not $root.Values.monitoring.enabled) }}
  prometheus.io/scrape: "true"
  prometheus.io/port: "8081"
  prometheus.io/path: /metrics
  {{- end }}
  {{- with $root.Values.podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* (list $ .Values.api 65532): what the specifications of all pods begin with: the account, the user's ID and the nodes. */}}
{{- define "holdfast.podSpec" -}}
{{- $root := index . 0 -}}
serviceAccountName: {{ include "holdfast.serviceAccountName" $root }}
automountServiceAccountToken: false
enableServiceLinks: false # a service named redis would set REDIS_PORT to an address
securityContext: {runAsNonRoot: true, runAsUser: {{ index . 2 }}, seccompProfile: {type: RuntimeDefault}}
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with index . 1 }}
{{- with .nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}

{{/* (list $ "api"): the pods of a component are on different machines, if there are some. */}}
{{- define "holdfast.spread" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "holdfast.selector" . | nindent 8 }}
{{- end }}

{{/* An image of the values: a digest is one image for ever, so it counts more than a tag. */}}
{{- define "holdfast.image" -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag }}
{{- end -}}
{{- end }}

{{/* What containers of Holdfast's image have in common: the image, its settings and its rights. */}}
{{- define "holdfast.container" -}}
image: {{ include "holdfast.image" (merge (dict "tag" (.Values.image.tag | default .Chart.AppVersion)) .Values.image) }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{ include "holdfast.rights" . }}
envFrom:
  - configMapRef: {name: {{ include "holdfast.fullname" . }}}
{{- with .Values.extraVolumeMounts }}
volumeMounts: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "holdfast.rights" -}}
securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
{{- end }}

{{/* The variables of secrets, the pod's name, and those of the values. */}}
{{- define "holdfast.env" -}}
{{- $fullname := include "holdfast.fullname" . -}}
{{- range $name, $secret := include "holdfast.secretSources" . | fromYaml }}
{{- if $secret.name }}
- name: {{ $name }}
  valueFrom: {secretKeyRef: {name: {{ $secret.name }}, key: {{ $secret.key }}}}
{{- else if $secret.value }}
- name: {{ $name }}
  valueFrom: {secretKeyRef: {name: {{ $fullname }}, key: {{ $name }}}}
{{- end }}
{{- end }}
- name: POD_NAME
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Where each secret setting comes from: the name and the key of a Secret that exists, or a value. */}}
{{- define "holdfast.secretSources" -}}
{{- with .Values -}}
MONGODB_URI: {values: mongodb, field: uri, name: {{ .mongodb.existingSecret | toJson }}, key: {{ .mongodb.existingSecretKey | toJson }}, value: {{ .mongodb.uri | toJson }}}
API_KEYS: {values: apiKeys, field: value, name: {{ .apiKeys.existingSecret | toJson }}, key: {{ .apiKeys.existingSecretKey | toJson }}, value: {{ .apiKeys.value | toJson }}}
REDIS_URL: {values: redis, field: url, name: {{ .redis.existingSecret | toJson }}, key: {{ .redis.existingSecretKey | toJson }}, value: {{ .redis.url | toJson }}}
JWT_SECRET: {values: jwt, field: secret, name: {{ .jwt.existingSecret | toJson }}, key: {{ .jwt.existingSecretKey | toJson }}, value: {{ .jwt.secret | toJson }}}
{{- end }}
{{- end }}

{{/* The data of the Secret: the secret settings that are values. */}}
{{- define "holdfast.secrets" -}}
{{- range $name, $secret := include "holdfast.secretSources" . | fromYaml }}
{{- if and $secret.value (not $secret.name) }}
{{ $name }}: {{ $secret.value | toJson }}
{{- end }}
{{- end }}
{{- end }}

{{/* The data of the ConfigMap: the settings that are not secret. Helm reads whole numbers as floating-point ones. */}}
{{- define "holdfast.config" -}}
SHUTDOWN_DELAY: {{ printf "%ds" (int64 .Values.api.shutdownDelaySeconds) | quote }}
{{- range $name, $value := .Values.settings }}
{{- if kindIs "float64" $value }}
{{ $name }}: {{ $value | int64 | quote }}
{{- else }}
{{ $name }}: {{ $value | toString | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* The service that clients call: its pods are the balancer's or, without one, the API's. */}}
{{- define "holdfast.front" -}}
{{ include "holdfast.fullname" . }}-{{ ternary "balancer" "api" .Values.balancer.enabled }}
{{- end }}
