/** The example files for operators refer to metrics, labels, services, ports and files that exist. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { VERSION } from 'gatehouse-protocol'
import { parse, parseAllDocuments } from 'yaml'
import { loadConfig } from '../../packages/server/src/config/load.ts'
import { longestStop } from '../../packages/server/src/server/stop-times.ts'
import { METRICS } from '../../packages/server/src/telemetry/metric-table.ts'

import { chartDigest } from '../../scripts/chart/render.ts'
import { lastStage } from '../../scripts/image/build.ts'

const root = new URL('../../', import.meta.url).pathname
const hasPromtool = spawnSync('promtool', ['--version']).error === undefined
const read = (file: string) => readFile(join(root, file), 'utf8')
const { streamDrainTime, stopDelay } = loadConfig({ environment: {} }).config
/** The longest time that a stop takes: waiting for load balancers, draining streams, finishing requests. */
const STOP_SECONDS = (stopDelay + streamDrainTime) / 1000 + 10

const METRIC = /\b((?:gatehouse|process|nodejs)_[a-z_]+)(?:\{([^}]*)\})?/g
const SUFFIXES = /_(bucket|sum|count)$/

/** What is wrong with our metrics in a PromQL expression. */
function findFaults(expression: string): string[] {
  const faults: string[] = []
  const grouped = [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, names = '']) => names.split(/,\s*/))
  for (const [, name = '', selector = ''] of expression.matchAll(METRIC)) {
    const plain = name.replace(SUFFIXES, '')
    const metric = Object.entries(METRICS).find(([known]) => known === name || known === plain)
    if (metric === undefined) {
      faults.push(`there is no metric ${name}`)
      continue
    }
    const [known, { type, labels }] = metric
    if ((type === 'histogram') !== (known !== name)) faults.push(`${name} is not how a ${type} is read`)
    if (type === 'counter' && !/\b(rate|increase)\(/.test(expression) && !/> 0$/.test(expression))
      faults.push(`the counter ${name} needs a rate`)
    const selected = [...selector.matchAll(/(\w+)\s*[=!]/g)].map(([, label = '']) => label)
    // Prometheus itself adds the job and the instance.
    const allowed: readonly string[] = [...labels, 'job', 'instance', ...(name.endsWith('_bucket') ? ['le'] : [])]
    for (const label of [...grouped, ...selected])
      if (!allowed.includes(label)) faults.push(`${name} has no label ${label}`)
  }
  return faults
}

test('the check of expressions finds errors', () => {
  assert.deepEqual(findFaults('sum(rate(gatehouse_requests[5m]))'), ['there is no metric gatehouse_requests'])
  assert.deepEqual(findFaults('sum by (user) (rate(gatehouse_tokens_total[5m]))'), [
    'gatehouse_tokens_total has no label user',
  ])
  assert.deepEqual(findFaults('rate(gatehouse_query_seconds[5m])'), [
    'gatehouse_query_seconds is not how a histogram is read',
  ])
  assert.deepEqual(findFaults('gatehouse_tokens_total{colour="x"}'), [
    'the counter gatehouse_tokens_total needs a rate',
    'gatehouse_tokens_total has no label colour',
  ])
})

test('the Grafana dashboard uses metrics and labels that exist', async () => {
  const dashboard: unknown = JSON.parse(await read('examples/grafana/gatehouse.json'))
  const expressions = membersNamed('expr', dashboard)
  assert.ok(expressions.length > 20)
  for (const expression of expressions) {
    assert.ok([...expression.matchAll(METRIC)].length > 0, expression)
    assert.deepEqual(findFaults(expression), [], expression)
  }
})

test('the alert rules use metrics and labels that exist, and each says what happened and what to do', async () => {
  const { groups } = parse(await read('examples/prometheus/alerts.yaml')) as { groups: readonly RuleGroup[] }
  const rules = groups.flatMap(({ rules: ofGroup }) => ofGroup)
  assert.ok(rules.length > 8)
  assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length)
  for (const rule of rules) {
    assert.deepEqual(
      Object.keys(rule).filter((name) => !['alert', 'expr', 'for', 'labels', 'annotations'].includes(name)),
      [],
    )
    assert.match(rule.alert, /^Gatehouse[A-Z]\w+$/)
    assert.deepEqual(findFaults(rule.expr), [], rule.expr)
    assert.match(rule.for ?? '1m', /^\d+[mh]$/)
    assert.match(rule.labels.severity, /^(warning|critical)$/)
    for (const text of [rule.annotations.summary, rule.annotations.description]) assert.ok(text.length > 10, rule.alert)
  }
})

test('promtool accepts the alert rules', { skip: !hasPromtool && 'promtool is not installed' }, () => {
  const { status, stderr } = spawnSync('promtool', ['check', 'rules', join(root, 'examples/prometheus/alerts.yaml')])
  assert.equal(status, 0, String(stderr))
})

test('the Kubernetes manifest is made from the chart as it is now (if not, run "npm run chart -- --write")', async () => {
  const manifest = await read('examples/kubernetes/gatehouse.yaml')
  assert.equal(/^# Sources: sha256:(\w+)$/m.exec(manifest)?.[1], await chartDigest())
  const { version, appVersion } = parse(await read('charts/gatehouse/Chart.yaml'))
  assert.deepEqual([version, appVersion], [VERSION, VERSION])
})

test('the Kubernetes manifest uses settings, ports and probes that exist, and gives a node time to stop', async () => {
  const manifests = parseAllDocuments(await read('examples/kubernetes/gatehouse.yaml')).map((document) =>
    document.toJS(),
  )
  const only = (wanted: string) => {
    const [found, ...others] = manifests.filter(({ kind }) => kind === wanted)
    assert.ok(found !== undefined && others.length === 0, wanted)
    return found
  }
  const [deployment, service, budget, policy, ingress, backup] = [
    ...['Deployment', 'Service', 'PodDisruptionBudget', 'NetworkPolicy', 'Ingress', 'CronJob'].map(only),
  ]
  const { spec, metadata } = deployment.spec.template
  const [container] = spec.containers
  const environment = Object.fromEntries(
    container.env.map(({ name, value }: { name: string; value?: string }) => [name, value ?? '']),
  )
  const { config } = loadConfig({ environment })
  assert.ok(spec.terminationGracePeriodSeconds * 1000 > longestStop(config))
  assert.equal(spec.enableServiceLinks, false)
  assert.deepEqual(
    [container.livenessProbe, container.readinessProbe].map(({ httpGet }) => [httpGet.path, httpGet.port]),
    [
      ['/healthz', 'http'],
      ['/readyz?exclude=database&exclude=query', 'http'],
    ],
  )
  const dockerfile = await read('Dockerfile')
  for (const { containerPort } of container.ports)
    assert.match(dockerfile, new RegExp(`^EXPOSE .*\\b${containerPort}\\b`, 'm'))
  for (const selector of [
    deployment.spec.selector.matchLabels,
    service.spec.selector,
    budget.spec.selector.matchLabels,
    policy.spec.podSelector.matchLabels,
  ])
    assert.deepEqual(selector, metadata.labels)
  const names = container.ports.map(({ name }: { name: string }) => name)
  for (const { targetPort } of service.spec.ports) assert.ok(names.includes(targetPort), targetPort)
  assert.equal(new URL(config.issuer).hostname, ingress.spec.rules[0].host)
  // Nobody but the monitoring reaches the metrics.
  const rules: readonly { ports: readonly { port: string }[]; from?: readonly object[] }[] = policy.spec.ingress
  assert.deepEqual(
    rules.filter(({ from }) => from === undefined).flatMap(({ ports }) => ports.map(({ port }) => port)),
    ['http'],
  )
  assert.ok(budget.spec.maxUnavailable < deployment.spec.replicas, 'a drain leaves a pod')
  assert.equal(backup.spec.jobTemplate.spec.template.spec.containers[0].image, container.image)
})

test('the alerts on the metrics page use metrics and labels that exist', async () => {
  const page = await read('docs/metrics.md')
  const alerts = page.slice(page.indexOf('## Worth an alert'), page.indexOf('## Traces'))
  const expressions = [...alerts.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text)
  assert.ok(expressions.length > 5)
  for (const expression of expressions) assert.deepEqual(findFaults(expression), [], expression)
})

test('compose.yaml mounts files that exist, the proxy knows the nodes, and they have time to stop', async () => {
  const { services, volumes } = parse(await read('compose.yaml'), { merge: true }) as Composition
  for (const [name, { volumes: mounts = [], stop_grace_period: grace, depends_on: needs = [] }] of Object.entries(
    services,
  )) {
    for (const mount of mounts) {
      const [source = ''] = mount.split(':')
      // The operator provides the certificate.
      if (source.startsWith('./')) assert.ok(source === './tls' || existsSync(join(root, source)), `${name}: ${mount}`)
      else assert.ok(source in volumes, `${name}: ${mount}`)
    }
    for (const needed of Array.isArray(needs) ? needs : Object.keys(needs)) assert.ok(needed in services, needed)
    if (name.startsWith('node-')) assert.ok(Number.parseInt(grace ?? '0', 10) > STOP_SECONDS, `${name}: ${grace}`)
  }
  const dockerfile = await read('Dockerfile')
  const port = /GATEHOUSE_PORT=(\d+)/.exec(dockerfile)?.[1]
  assert.match(dockerfile, new RegExp(`^EXPOSE ${port}\\b`, 'm'))
  const upstream = [...(await read('examples/nginx/gatehouse.conf')).matchAll(/^\s+server ([\w-]+):(\d+)/gm)]
  assert.deepEqual(
    upstream.map(([, host, to]) => [host, to]),
    Object.keys(services)
      .filter((name) => name.startsWith('node-'))
      .map((name) => [name, port]),
  )
})

test('the Dockerfile has the files that the package is made of; "npm run image" takes its last stage', async () => {
  const ignored = (await read('.dockerignore')).split('\n').filter((line) => line !== '')
  const needed = [
    'package.json',
    'package-lock.json',
    '.npmrc',
    'tsconfig.json',
    'LICENSE',
    'CHANGELOG.md',
    'docs',
    'scripts',
  ]
  for (const source of [...needed, 'packages']) {
    assert.ok(existsSync(join(root, source)), source)
    assert.ok(!ignored.includes(source), `${source} is in .dockerignore`)
  }
  const stage = lastStage(await read('Dockerfile'))
  assert.match(stage, /^FROM scratch\nCOPY root \/\nCOPY --chown=1000:1000 data \/var\/lib\/\n/)
  assert.doesNotMatch(stage, /^RUN |\/image/m, 'nothing runs in an image without a shell')
  const variables = [...stage.matchAll(/\b(GATEHOUSE_\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value])
  const { config } = loadConfig({
    environment: { ...Object.fromEntries(variables), GATEHOUSE_ISSUER: 'https://a.example' },
  })
  assert.deepEqual([config.port, config.metricsPort], [5080, undefined])
})

test('the systemd unit starts the program that the installation links to, and gives it time to stop', async () => {
  const unit = await read('examples/systemd/gatehouse.service')
  const value = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)?.[1] ?? ''
  assert.ok(Number(value('TimeoutStopSec')) > STOP_SECONDS)
  // The program reads the file of the installation, for the service and for commands alike.
  const [, file = 'none'] = /^GATEHOUSE_SETTINGS_FILE=(.+)$/.exec(value('Environment')) ?? []
  const install = await read('docs/install.md')
  assert.ok(install.includes(`env GATEHOUSE_SETTINGS_FILE=${file} `) && install.includes(`sudo tee ${file} `), file)
  // Of a package the prefix has it, which test/package/installed.test.ts starts; a clone has it at its root.
  const [program = 'none'] = value('ExecStart').split(' ')
  const links = [...install.matchAll(/^sudo ln -sfn (\S+) (\S+)$/gm)].filter(([, , link]) => link === program)
  assert.deepEqual(
    links.map(([, target]) => target),
    ['/opt/gatehouse/current/lib/node_modules/gatehouse-server/bin/gatehouse', '/opt/gatehouse/gatehouse'],
  )
  assert.ok(existsSync(join(root, 'gatehouse')))
  // Older releases of Node use protection keys at startup; without these two the process would be killed.
  assert.match(value('SystemCallFilter'), /@pkey/)
  assert.equal(value('SystemCallErrorNumber'), 'EPERM')
})

interface RuleGroup {
  readonly rules: readonly {
    readonly alert: string
    readonly expr: string
    readonly for?: string
    readonly labels: { readonly severity: string }
    readonly annotations: { readonly summary: string; readonly description: string }
  }[]
}

interface Composition {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly volumes?: readonly string[]
        readonly stop_grace_period?: string
        readonly depends_on?: readonly string[] | Readonly<Record<string, unknown>>
      }
    >
  >
  readonly volumes: Readonly<Record<string, unknown>>
}

function membersNamed(name: string, value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, member]) =>
    key === name && typeof member === 'string' ? [member] : membersNamed(name, member),
  )
}
