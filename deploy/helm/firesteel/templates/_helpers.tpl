{{/* The prefix of all names: that of the release. */}}
{{- define "firesteel.name" -}}
{{- if gt (len .Release.Name) 40 }}{{ fail "the name of the release has more than 40 characters: those of its objects would be too long" }}{{ end -}}
{{ .Release.Name }}
{{- end }}

{{/* What finds the pods of a component; never changes, since a selector must not. Called with (list CONTEXT COMPONENT). */}}
{{- define "firesteel.selector" -}}
{{ include "firesteel.instance" (first .) }}
app.kubernetes.io/component: {{ last . }}
{{- end }}

{{/* What all pods of the release have in common. */}}
{{- define "firesteel.instance" -}}
app.kubernetes.io/name: firesteel
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "firesteel.labels" -}}
{{ include "firesteel.selector" . }}
app.kubernetes.io/version: {{ (first .).Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ (first .).Release.Service }}
{{- end }}

{{- define "firesteel.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "firesteel.claim" -}}
{{ .Values.storage.existingClaim | default (printf "%s-shared" (include "firesteel.name" .)) }}
{{- end }}

{{/* "yes" where several dispatchers agree on a leader. */}}
{{- define "firesteel.elects" -}}
{{ if and (eq .Values.mode "session") (gt (int .Values.dispatcher.replicas) 1) }}yes{{ end }}
{{- end }}

{{/* "yes" where the driver starts its executors as pods. */}}
{{- define "firesteel.starts" -}}
{{ if eq .Values.spark.manager "kubernetes" }}yes{{ end }}
{{- end }}

{{/* "yes" where the driver talks to Kubernetes. */}}
{{- define "firesteel.talks" -}}
{{ if or (include "firesteel.elects" .) (include "firesteel.starts" .) }}yes{{ end }}
{{- end }}

{{/* The settings of this deployment, with those of the user over them. */}}
{{- define "firesteel.configuration" -}}
{{- $name := include "firesteel.name" . -}}
{{- $own := dict
  "spark.master" (printf "spark://%s-spark:7077" $name)
  "spark.driver.port" 7078
  "spark.blockManager.port" 7079
  "rest.bind-address" "0.0.0.0"
  "rest.port" 8081
  "rest.auth" "token"
  "rest.auth.file" "/run/firesteel/tokens"
  "firesteel.state.dir" "/shared/state"
  "execution.checkpointing.dir" "file:///shared/checkpoints"
-}}
{{- if include "firesteel.starts" . -}}
{{- $_ := set $own "spark.master" "k8s://https://kubernetes.default.svc" -}}
{{- $_ := set $own "spark.kubernetes.namespace" .Release.Namespace -}}
{{- $_ := set $own "spark.kubernetes.container.image" (include "firesteel.image" .) -}}
{{- $_ := set $own "spark.kubernetes.executor.podTemplateFile" "/etc/firesteel/executor.yaml" -}}
{{- $_ := set $own "spark.kubernetes.executor.request.cores" .Values.spark.executor.cpu -}}
{{- $_ := set $own "spark.executor.cores" .Values.spark.executor.cores -}}
{{- $_ := set $own "spark.executor.instances" .Values.spark.executor.instances -}}
{{- end -}}
{{- if eq .Values.mode "application" -}}
{{- $_ := set $own "$internal.pipeline.job-id" (.Values.application.jobId | default (printf "%s/%s" .Release.Namespace .Release.Name | sha256sum | trunc 32)) -}}
{{- else if include "firesteel.elects" . -}}
{{- $_ := set $own "firesteel.cluster.dir" "/var/lib/firesteel/cluster" -}}
{{- $_ := set $own "high-availability.type" "kubernetes" -}}
{{- $_ := set $own "high-availability.cluster-id" $name -}}
{{- $_ := set $own "high-availability.storageDir" "/shared/cluster" -}}
{{- $_ := set $own "kubernetes.namespace" .Release.Namespace -}}
{{- else -}}
{{- $_ := set $own "firesteel.cluster.dir" (printf "/shared/cluster/%s" $name) -}}
{{- end -}}
{{- range $key, $value := merge (dict) .Values.configuration $own }}
{{- /* Helm reads whole numbers as floating-point ones, and would write a million as 1e+06. */}}
{{- $whole := and (kindIs "float64" $value) (eq (floor $value) $value) }}
{{ $key }}: {{ $whole | ternary (int64 $value) $value | toString | quote }}
{{- end }}
{{- end }}

{{/* The pod of a component without its containers. Called with (list CONTEXT COMPONENT). */}}
{{- define "firesteel.pod" -}}
{{- $values := (first .).Values -}}
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 185
  runAsGroup: 185
  fsGroup: 185
  seccompProfile: {type: RuntimeDefault}
{{- with $values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The account of a pod that talks to Kubernetes; no other is given one. */}}
{{- define "firesteel.account" -}}
{{- if include "firesteel.talks" . -}}
serviceAccountName: {{ include "firesteel.name" . }}
automountServiceAccountToken: true
{{- else -}}
automountServiceAccountToken: false
{{- end }}
{{- end }}

{{/* What Spark makes its executors of, with its own settings in it: a pod as those of the chart. */}}
{{- define "firesteel.executor" -}}
apiVersion: v1
kind: Pod
metadata:
  labels: {{- include "firesteel.labels" (list . "executor") | nindent 4 }}
spec:
  {{- include "firesteel.pod" (list . "executor") | nindent 2 }}
  automountServiceAccountToken: false
  containers:
    - name: executor
      {{- include "firesteel.container" . | nindent 6 }}
      {{- with .Values.env }}
      env: {{- toYaml . | nindent 8 }}
      {{- end }}
      volumeMounts:
        {{- include "firesteel.mounts" . | nindent 8 }}
  volumes:
    {{- include "firesteel.volumes" . | nindent 4 }}
{{- end }}

{{/* What all that run tasks or a driver share, and what the user adds. */}}
{{- define "firesteel.mounts" -}}
- {name: shared, mountPath: /shared}
{{- with .Values.volumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "firesteel.volumes" -}}
- name: shared
  persistentVolumeClaim: {claimName: {{ include "firesteel.claim" . }}}
{{- with .Values.volumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* What all containers have. */}}
{{- define "firesteel.container" -}}
image: {{ include "firesteel.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  capabilities: {drop: [ALL]}
{{- end }}

{{/* What the pod of a driver has beside that: a dispatcher's or a program's. */}}
{{- define "firesteel.driver" -}}
initContainers:
  # The server takes a file with tokens only if nobody but its owner may read it.
  - name: tokens
    {{- include "firesteel.container" . | nindent 4 }}
    args: [install, -m, "600", /secret/tokens, /run/firesteel/tokens]
    resources:
      requests: {cpu: 10m, memory: 16Mi}
      limits: {memory: 64Mi}
    volumeMounts:
      - {name: secret, mountPath: /secret, readOnly: true}
      - {name: tokens, mountPath: /run/firesteel}
volumes:
  - name: config
    configMap: {name: {{ include "firesteel.name" . }}}
  - name: secret
    secret: {secretName: {{ .Values.auth.secret | default (printf "%s-auth" (include "firesteel.name" .)) }}}
  - name: tokens
    emptyDir: {medium: Memory}
  {{- include "firesteel.volumes" . | nindent 2 }}
{{- end }}

{{/* What the container of a driver has. Executors connect to the address of its pod. */}}
{{- define "firesteel.driverContainer" -}}
ports:
  - {name: rest, containerPort: 8081}
  - {name: driver, containerPort: 7078}
  - {name: blocks, containerPort: 7079}
env:
  - name: POD_IP
    valueFrom: {fieldRef: {fieldPath: status.podIP}}
  {{- if include "firesteel.starts" . }}
  - name: POD_NAME
    valueFrom: {fieldRef: {fieldPath: metadata.name}}
  {{- end }}
  {{- with .Values.env }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
volumeMounts:
  - {name: config, mountPath: /etc/firesteel, readOnly: true}
  - {name: tokens, mountPath: /run/firesteel}
  {{- include "firesteel.mounts" . | nindent 2 }}
{{- end }}

{{/* What only the pod itself knows. Executors that Kubernetes starts belong to the pod of the driver, and go with it. */}}
{{- define "firesteel.definitions" -}}
- -D
- spark.driver.host=$(POD_IP)
- -D
- rest.address=$(POD_IP)
{{- if include "firesteel.starts" . }}
- -D
- spark.kubernetes.driver.pod.name=$(POD_NAME)
{{- end }}
{{- end }}

{{/* A probe of the REST API: its page needs no credentials, and a dispatcher that stands by answers 503. */}}
{{- define "firesteel.answers" -}}
{{- $tls := index .Values.configuration "security.ssl.rest.enabled" | toString | eq "true" -}}
{{- if index .Values.configuration "security.ssl.rest.authentication-enabled" | toString | eq "true" -}}
tcpSocket: {port: rest}
{{- else -}}
httpGet: {path: /firesteel/dashboard/, port: rest, scheme: {{ $tls | ternary "HTTPS" "HTTP" }}}
{{- end }}
{{- end }}
