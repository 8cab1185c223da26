{{/*
Refuses values that the schema can't: with a message that says what to do, and without the secrets that are wrong.
*/}}
{{- define "holdfast.validate" -}}
{{- $errors := list -}}
{{- $sources := include "holdfast.secretSources" . | fromYaml -}}
{{- range $name, $secret := $sources }}
{{- if and $secret.value $secret.name }}
{{- $errors = append $errors (printf "%s.%s and %s.existingSecret are both set: unset one of them" $secret.values $secret.field $secret.values) }}
{{- end }}
{{- end }}
{{- with $sources.MONGODB_URI }}
{{- if not (or .value .name) }}
{{- $errors = append $errors "no MongoDB is given: set mongodb.existingSecret to the name of a Secret that has the connection string of a replica set as MONGODB_URI, or set mongodb.uri" }}
{{- else if and .value (not (regexMatch "^mongodb(\\+srv)?://" .value)) }}
{{- $errors = append $errors "mongodb.uri is not a connection string: use mongodb://host-1,host-2,host-3/?replicaSet=name, or mongodb+srv://" }}
{{- end }}
{{- end }}
{{- with $sources.API_KEYS }}
{{- if not (or .value .name) }}
{{- $errors = append $errors "no API keys are given: set apiKeys.existingSecret to the name of a Secret that has them as API_KEYS, or set apiKeys.value, such as shop:booking:SECRET,ops:admin:SECRET with secrets of openssl rand -hex 24" }}
{{- end }}
{{- range $i, $key := .value | splitList "," }}
{{- if and $sources.API_KEYS.value (not (regexMatch "^ *[^:]+:(booking|admin):[!-~]{16,}$" $key)) }}
{{- $errors = append $errors (printf "apiKeys.value, entry %d: use the form name:scope:secret; the scope is booking or admin, and the secret has at least 16 characters: create one with openssl rand -hex 24" (add1 $i)) }}
{{- end }}
{{- end }}
{{- end }}
{{- with $sources.REDIS_URL.value }}
{{- if not (regexMatch "^rediss?://" .) }}
{{- $errors = append $errors "redis.url is not an address of Redis: use redis://user:password@host:6379, or rediss:// for TLS; leave it empty to keep leases in MongoDB" }}
{{- end }}
{{- end }}
{{- with $sources.JWT_SECRET.value }}
{{- if lt (len .) 32 }}
{{- $errors = append $errors "jwt.secret has less than 32 bytes: create one with openssl rand -base64 32" }}
{{- end }}
{{- end }}

{{- /* Settings that the chart sets, and the value that changes each. */}}
{{- $owned := dict "MONGODB_URI" "set mongodb.existingSecret or mongodb.uri" "API_KEYS" "set apiKeys.existingSecret or apiKeys.value"
  "REDIS_URL" "set redis.existingSecret or redis.url" "JWT_SECRET" "set jwt.existingSecret or jwt.secret"
  "REDIS_PASSWORD" "it is a secret: set redis.existingSecret or redis.url, or extraEnv with a secretKeyRef"
  "SHUTDOWN_DELAY" "set api.shutdownDelaySeconds, from which the grace period of the pods follows"
  "HTTP_ADDR" "the chart sets it" "METRICS_ADDR" "the chart sets it" "POD_NAME" "the chart sets it" }}
{{- $known := splitList " " (regexReplaceAll "\\s+" (include "holdfast.knownSettings" . | trim) " ") }}
{{- range $name, $_ := .Values.settings }}
{{- if hasKey $owned $name }}
{{- $errors = append $errors (printf "settings.%s: %s" $name (get $owned $name)) }}
{{- else if not (has $name $known) }}
{{- $errors = append $errors (printf "settings.%s is not a setting of Holdfast %s: /api --help lists them; set other variables with extraEnv" $name $.Chart.AppVersion) }}
{{- end }}
{{- end }}

{{- /* HAProxy's configuration has places for 16 pods. */}}
{{- $scaled := .Values.api.autoscaling.enabled }}
{{- $field := ternary "api.autoscaling.maxReplicas" "api.replicas" $scaled }}
{{- $most := ternary .Values.api.autoscaling.maxReplicas .Values.api.replicas $scaled | int }}
{{- if and .Values.balancer.enabled (gt $most 15) }}
{{- $errors = append $errors (printf "%s is %d, but the balancer knows at most 16 pods, one of which is for updates: use at most 15 larger pods, or set balancer.enabled=false" $field $most) }}
{{- end }}
{{- if and $scaled (gt (int .Values.api.autoscaling.minReplicas) $most) }}
{{- $errors = append $errors "api.autoscaling.minReplicas is greater than api.autoscaling.maxReplicas: lower it, or raise the other" }}
{{- end }}

{{- if and .Values.ingress.enabled (not .Values.ingress.host) }}
{{- $errors = append $errors "ingress.host is empty: set the host name that customers use, such as tickets.example.com" }}
{{- end }}
{{- if ne .Values.service.type "ClusterIP" }}
{{- if not .Values.balancer.enabled }}
{{- $errors = append $errors (printf "service.type is %s without the balancer: the routes of operators would be public; set balancer.enabled=true, or service.type=ClusterIP with ingress.enabled=true" .Values.service.type) }}
{{- end }}
{{- if .Values.ingress.enabled }}
{{- $errors = append $errors (printf "service.type is %s and ingress.enabled is true: the balancer would limit the Ingress as if it were one client; set service.type=ClusterIP, or ingress.enabled=false" .Values.service.type) }}
{{- end }}
{{- end }}
{{- range $label, $_ := .Values.podLabels }}
{{- if hasPrefix "app.kubernetes.io/" $label }}
{{- $errors = append $errors (printf "podLabels.%s: the chart finds its pods by such labels; use another one" $label) }}
{{- end }}
{{- end }}
{{- if $errors }}
{{- fail (printf "\n- %s\n" (join "\n- " $errors)) }}
{{- end }}
{{- end }}

{{/* The settings that values may have: those of /api --help but for what the chart sets. */}}
{{- define "holdfast.knownSettings" -}}
ARCHIVE_AFTER BOOKING_EXPIRY_INTERVAL BOOKING_EXPIRY_MAX_DURATION CHANGES_RETENTION CORS_ORIGINS DEMO DISABLE_CRONS_ON_REDIS_DOWN
ENDED_RETENTION JOB_LEASES JWKS_FILE JWT_AUDIENCE JWT_ISSUER LEASE_TTL LOCK_DEFAULT_TTL LOCK_EXPIRY_INTERVAL
LOCK_EXPIRY_MAX_DURATION LOCK_MAX_TTL LOG_FORMAT LOG_LEVEL MAX_ACTIVE_LOCKS_PER_USER MAX_SEATS_PER_LOCK MONGODB_DATABASE
PAYMENT_MAX_TTL RATE_LIMIT_PER_ADDRESS RATE_LIMIT_PER_KEY RATE_LIMIT_PER_USER RECONCILE_INTERVAL RECONCILE_MAX_DURATION
RECOVERY_BOOT_WAIT RECOVERY_MAX_DURATION REDIS_ENABLED REDIS_HOST REDIS_PORT REDIS_TLS REDIS_USERNAME RUN_JOBS SEAT_INDEX
SWEEP_BATCH WEBHOOK_ALLOW_PRIVATE
{{- end }}
