/** charts/gatehouse/values.schema.json: what the values of the Helm chart may be. Helm checks them before it renders anything. */
import { fileName, SETTINGS, type SettingName, settingNames } from '../../packages/server/src/config/config.ts'
import { closed, flag, list, number, oneOf, text } from '../../packages/server/src/schema/builders.ts'
import type { GeneratedPage } from './page.ts'

export const page: GeneratedPage = {
  path: 'charts/gatehouse/values.schema.json',
  render: () => `${JSON.stringify(valuesSchema(), null, 2)}\n`,
}

/** The chart sets these from other values, or from what it mounts. */
const OF_THE_CHART: ReadonlySet<SettingName> = new Set<SettingName>([
  ...(['host', 'port', 'data', 'issuer', 'databaseUrl', 'masterKey', 'settingsFile', 'config', 'server'] as const),
  ...(['tlsCertificate', 'tlsKey', 'trustedProxies', 'stopDelay', 'streamDrainTime'] as const),
  ...(['metricsHost', 'metricsPort', 'metricsToken', 'demo', 'demoMarket'] as const),
])

const NAME = '^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$'
const QUANTITY = '^[0-9]+(\\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti)?$'

const name = (description?: string) => text({ pattern: NAME, ...(description === undefined ? {} : { description }) })
const nameOrEmpty = (description: string) => ({ anyOf: [text({ maxLength: 0 }), name()], description })
const key = text({ pattern: '^[-._a-zA-Z0-9]+$', description: 'The key in the secret.' })
const port = (description: string) => number('integer', { minimum: 1, maximum: 65_535, description })
const seconds = (most: number, description: string) => number('integer', { minimum: 0, maximum: most, description })
/** Checked by Kubernetes. */
const kubernetes = (description: string) => list({ type: 'object' }, description)
const texts = (description: string) => ({ type: 'object', additionalProperties: { type: 'string' }, description })
const claim = {
  existingClaim: nameOrEmpty('A claim that exists. Empty: the chart creates one.'),
  storageClass: nameOrEmpty('The storage class of the claim. Empty: the default of the cluster.'),
  size: text({ pattern: QUANTITY, description: 'The size of the claim.' }),
}

function valuesSchema() {
  return { $schema: 'http://json-schema.org/draft-07/schema#', title: 'Values of the Gatehouse chart', ...values() }
}

function values() {
  return closed(['issuer', 'image', 'database', 'masterKey'], {
    global: { type: 'object' },
    issuer: text({ pattern: '^https://[^/?#]+(/[^?#]*)?$', description: 'The public https address. Required.' }),
    image: closed(['repository'], {
      repository: text({
        pattern: '^[^:@\\s]+(:[0-9]+/[^:@\\s]+)?$',
        description: 'The image without a tag. Required.',
      }),
      tag: text({ pattern: '^[-\\w.]*$', description: 'Empty: the version of the chart.' }),
      digest: text({ pattern: '^(sha256:[0-9a-f]{64})?$', description: 'Instead of the tag.' }),
      pullPolicy: oneOf(['Always', 'IfNotPresent', 'Never']),
    }),
    imagePullSecrets: list(closed(['name'], { name: name() }), 'Secrets for the registry of the image.'),
    replicas: number('integer', { minimum: 1, maximum: 100, description: 'Pods, without autoscaling.' }),
    autoscaling: closed([], {
      enabled: flag(),
      minReplicas: number('integer', { minimum: 1, maximum: 100 }),
      maxReplicas: number('integer', { minimum: 1, maximum: 100 }),
      targetCPUUtilization: number('integer', { minimum: 1, maximum: 100, description: 'Percent of the request.' }),
      scaleDownStabilizationSeconds: seconds(3600, 'How long the load must be low before a pod goes.'),
    }),
    database: closed(['engine'], {
      engine: oneOf(['postgresql', 'sqlite'], 'sqlite: one pod with a volume.'),
      existingSecret: name('The secret with the URL of PostgreSQL.'),
      key,
    }),
    masterKey: closed(['existingSecret', 'key'], { existingSecret: name('The secret with the master key.'), key }),
    trustedProxies: list(text({ pattern: '^[0-9a-fA-F.:]+(/[0-9]+)?$' }), 'Networks of the ingress controller.'),
    settings: { ...closed([], settings()), description: 'Other settings by their names in docs/settings.md.' },
    config: { type: 'object', description: 'The declarative file (docs/configuration.md).' },
    extraEnv: kubernetes('More variables of all containers: EnvVar.'),
    extraVolumes: kubernetes('More volumes of all pods: Volume.'),
    extraVolumeMounts: kubernetes('More mounts of all containers: VolumeMount.'),
    tls: closed([], {
      existingSecret: nameOrEmpty('A secret of the type kubernetes.io/tls. Empty: no TLS in the pod.'),
    }),
    shutdown: closed(['delay', 'streamDrain'], {
      delay: seconds(600, 'stop_delay: seconds for which a stopping pod still serves.'),
      streamDrain: seconds(3600, 'stream_drain_time: seconds over which it closes its streams.'),
    }),
    ...network(),
    ...jobs(),
    persistence: { ...closed([], claim), description: 'The volume of SQLite.' },
    ...pods(),
  })
}

function settings(): Record<string, object> {
  const names = settingNames().filter((setting) => !OF_THE_CHART.has(setting))
  return Object.fromEntries(
    names.map((setting) => [
      fileName(setting),
      { type: ['string', 'number', 'boolean'], description: SETTINGS[setting].help },
    ]),
  )
}

function network() {
  const peers = (description: string) => kubernetes(`${description}: NetworkPolicyPeer.`)
  return {
    service: closed([], {
      type: oneOf(['ClusterIP', 'NodePort', 'LoadBalancer']),
      port: { ...port('Empty: 80, or 443 with TLS.'), type: ['integer', 'null'] },
      annotations: texts('Annotations of the Service.'),
    }),
    ingress: closed([], {
      enabled: flag(),
      className: nameOrEmpty('The class of the ingress controller. Empty: the default of the cluster.'),
      annotations: texts('Annotations for the ingress controller.'),
      tlsSecret: nameOrEmpty('The secret with the certificate. Empty: that of the controller.'),
    }),
    networkPolicy: closed([], {
      enabled: flag(),
      from: peers('Who may connect to the main port. Empty: everyone'),
      egress: kubernetes('Where pods may connect to: NetworkPolicyEgressRule. Empty: everywhere.'),
    }),
    metrics: closed([], {
      enabled: flag('Whether pods have a metrics port.'),
      port: port('The metrics port.'),
      from: { ...peers('Who may connect to the metrics port'), minItems: 1 },
      existingSecret: nameOrEmpty('A secret with a token that scrapers must send.'),
      key,
      serviceMonitor: closed([], {
        enabled: flag('Needs the Prometheus operator.'),
        interval: text({ pattern: '^[0-9]+(s|m)$' }),
        labels: texts('Labels by which Prometheus selects it.'),
      }),
    }),
  }
}

function jobs() {
  return {
    migrations: closed([], {
      job: flag('Migrate in a job before an upgrade. Otherwise the first pod migrates when it starts.'),
      deadline: seconds(86_400, 'Seconds that a migration may take.'),
    }),
    backup: closed([], {
      enabled: flag(),
      schedule: text({ pattern: '^(@[a-z]+|\\S+( \\S+){4})$', description: 'As in cron.' }),
      timeZone: text({ minLength: 1 }),
      keep: number('integer', { minimum: 1, maximum: 10_000, description: 'Backups that are kept.' }),
      ...claim,
    }),
  }
}

function pods() {
  return {
    resources: { type: 'object', description: 'Of each container: ResourceRequirements.' },
    tmpSize: text({ pattern: QUANTITY, description: 'The most that temporary files may take.' }),
    podDisruptionBudget: closed([], {
      enabled: flag(),
      maxUnavailable: { anyOf: [number('integer', { minimum: 1 }), text({ pattern: '^[0-9]+%$' })] },
    }),
    topologySpread: closed([], {
      enabled: flag(),
      whenUnsatisfiable: oneOf(['ScheduleAnyway', 'DoNotSchedule']),
    }),
    serviceAccount: closed([], {
      create: flag(),
      name: nameOrEmpty('Empty: that of the release.'),
      annotations: texts('Annotations of the service account.'),
    }),
    nameOverride: nameOrEmpty('Instead of the name of the chart.'),
    fullnameOverride: nameOrEmpty('Instead of the name of the release.'),
    podLabels: texts('More labels of the pods.'),
    podAnnotations: texts('More annotations of the pods.'),
    priorityClassName: nameOrEmpty('The priority class of all pods.'),
    nodeSelector: texts('Labels of the machines for all pods.'),
    tolerations: kubernetes('Of all pods: Toleration.'),
    affinity: { type: 'object', description: 'Of the pods that serve: Affinity.' },
  }
}
