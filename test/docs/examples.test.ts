/** The files for operators name what exists: metrics and labels, services and ports, files and times. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { loadConfig } from '../../src/config.ts'
import { METRICS } from '../../src/protocol/metric-table.ts'

const root = new URL('../../', import.meta.url).pathname
const read = (file: string) => readFile(join(root, file), 'utf8')
const { streamDrainTime } = loadConfig({ environment: {} }).config
/** What a stop takes at the longest: the streams, then the requests that are still there. */
const STOP_SECONDS = streamDrainTime / 1000 + 10

const METRIC = /\b((?:gatehouse|process|nodejs)_[a-z_]+)(?:\{([^}]*)\})?/g
const SUFFIXES = /_(bucket|sum|count)$/

/** What is wrong with an expression of PromQL, as far as our own metrics are concerned. */
function faultsOf(expression: string): string[] {
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
      faults.push(`the counter ${name} is shown as it is`)
    const selected = [...selector.matchAll(/(\w+)\s*[=!]/g)].map(([, label = '']) => label)
    const allowed: readonly string[] = [...labels, ...(name.endsWith('_bucket') ? ['le'] : [])]
    for (const label of [...grouped, ...selected])
      if (!allowed.includes(label)) faults.push(`${name} has no label ${label}`)
  }
  return faults
}

test('the check of expressions finds what is wrong', () => {
  assert.deepEqual(faultsOf('sum(rate(gatehouse_requests[5m]))'), ['there is no metric gatehouse_requests'])
  assert.deepEqual(faultsOf('sum by (user) (rate(gatehouse_tokens_total[5m]))'), [
    'gatehouse_tokens_total has no label user',
  ])
  assert.deepEqual(faultsOf('rate(gatehouse_query_seconds[5m])'), [
    'gatehouse_query_seconds is not how a histogram is read',
  ])
  assert.deepEqual(faultsOf('gatehouse_tokens_total{door="x"}'), [
    'the counter gatehouse_tokens_total is shown as it is',
    'gatehouse_tokens_total has no label door',
  ])
})

test('the dashboard for Grafana shows metrics and labels that exist', async () => {
  const dashboard: unknown = JSON.parse(await read('examples/grafana/gatehouse.json'))
  const expressions = membersNamed('expr', dashboard)
  assert.ok(expressions.length > 20)
  for (const expression of expressions) {
    assert.ok([...expression.matchAll(METRIC)].length > 0, expression)
    assert.deepEqual(faultsOf(expression), [], expression)
  }
})

test('the alerts in the page on metrics are about metrics and labels that exist', async () => {
  const page = await read('docs/metrics.md')
  const alerts = page.slice(page.indexOf('## Worth an alert'), page.indexOf('## Traces'))
  const expressions = [...alerts.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text)
  assert.ok(expressions.length > 5)
  for (const expression of expressions) assert.deepEqual(faultsOf(expression), [], expression)
})

test('the composition is whole: its files are there, the proxy knows its nodes, and they have time to stop', async () => {
  const { services, volumes } = parse(await read('compose.yaml'), { merge: true }) as Composition
  for (const [name, { volumes: mounts = [], stop_grace_period: grace, depends_on: needs = [] }] of Object.entries(
    services,
  )) {
    for (const mount of mounts) {
      const [source = ''] = mount.split(':')
      // The certificate is the operator's to bring.
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

test('the image is made of files that are there and not kept out of its context', async () => {
  const ignored = (await read('.dockerignore')).split('\n').filter((line) => line !== '')
  const sources = [...(await read('Dockerfile')).matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, files = '']) =>
    files.split(' '),
  )
  assert.ok(sources.length > 4)
  for (const source of sources) {
    assert.ok(existsSync(join(root, source)), source)
    assert.ok(!ignored.includes(source), `${source} is in .dockerignore`)
  }
})

test('the systemd unit starts what is there and gives it time to stop', async () => {
  const unit = await read('examples/systemd/gatehouse.service')
  const value = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)?.[1] ?? ''
  assert.ok(existsSync(join(root, value('ExecStart').split(' ')[0]?.replace('/opt/gatehouse/', '') ?? 'none')))
  assert.ok(Number(value('TimeoutStopSec')) > STOP_SECONDS)
  // Older releases of Node ask for protection keys at their start; without these two that ends the process.
  assert.match(value('SystemCallFilter'), /@pkey/)
  assert.equal(value('SystemCallErrorNumber'), 'EPERM')
})

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
