/** The Helm chart: what it renders is valid for Kubernetes, and values that cannot work are refused with the reason. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { loadConfig } from '../../packages/server/src/config/load.ts'
import { longestStop } from '../../packages/server/src/server/stop-times.ts'
import { checkChart, validate } from '../../scripts/chart/check.ts'
import { renderChart, valueSets } from '../../scripts/chart/render.ts'
import { writeSchemas } from '../../scripts/chart/schemas.ts'
import { type ChartTools, chartTools, MissingTool } from '../../scripts/chart/tools.ts'
import { IS_LONG_RUN } from '../support/engines.ts'

const LEAST = 'ci/least-values.yaml'

describe('the chart', { skip: !IS_LONG_RUN && 'in npm run test:all' }, () => {
  let tools: ChartTools
  let missing: string | undefined
  // The first run builds Helm.
  before(
    async () => {
      try {
        tools = await chartTools()
      } catch (error) {
        if (!(error instanceof MissingTool)) throw error
        missing = error.message
      }
    },
    { timeout: 600_000 },
  )
  const chartTest = (name: string, run: () => Promise<void>) =>
    test(name, async (context) => {
      if (missing === undefined) await run()
      else context.skip(missing)
    })

  chartTest('is linted, valid for each set of values, and the plain manifest is made from it', async () => {
    const seen: string[] = []
    assert.deepEqual(await checkChart(tools, (line) => seen.push(line)), [])
    assert.equal(seen.length, (await valueSets()).length)
  })

  chartTest('the check finds unknown members, wrong types and unknown kinds', async () => {
    const schemas = await writeSchemas(tools)
    const rendered = await renderChart(tools.helm, 'ci/full-values.yaml')
    for (const [text, wrong] of [
      ['maxSurge: 1', 'maxSurges: 1'],
      ['containerPort: 5080', 'containerPort: http'],
      ['interval: 30s', 'intervall: 30s'],
      ['kind: Ingress', 'kind: Ingres'],
      ['sizeLimit: 2Gi', 'sizelimit: 2Gi'],
    ] as const) {
      assert.ok(rendered.includes(text), text)
      const { fault, summary } = await validate(tools.kubeconform, schemas, rendered.replace(text, wrong))
      assert.ok(fault, `${wrong}: ${summary}`)
    }
  })

  const REFUSED: readonly [settings: string[], reason: RegExp][] = [
    [['issuer="http://gate.example.com"'], /issuer/],
    [['image.repository=""'], /repository/],
    [['replica=3'], /replica/],
    [['settings.access_token_lifetimes=60'], /access_token_lifetimes/],
    [['settings.master_key="x"'], /master_key/],
    [['metrics.from=[]'], /metrics/],
    [['networkPolicy.enabled=false'], /open to the whole cluster/],
    [['database.engine="sqlite"', 'autoscaling.enabled=true'], /SQLite has one pod/],
    [['autoscaling.enabled=true', 'autoscaling.minReplicas=9'], /greater than/],
    [['metrics.enabled=false', 'metrics.serviceMonitor.enabled=true'], /needs metrics\.enabled/],
  ]
  for (const [settings, reason] of REFUSED)
    chartTest(`${settings.join(', ')} is refused`, async () => {
      await assert.rejects(renderChart(tools.helm, LEAST, settings), reason)
    })

  chartTest('a pod has time to stop, whatever the times are, and its variables are settings', async () => {
    for (const times of [[], ['shutdown.delay=60', 'shutdown.streamDrain=300'], ['settings.workers="auto"']]) {
      const { spec } = await deployment(LEAST, times)
      const names = spec.containers[0].env.map(({ name, value }: EnvVar) => [name, value ?? ''])
      const { config } = loadConfig({ environment: Object.fromEntries(names) })
      const needed = Math.max(longestStop(config), config.workers > 1 ? config.stopDelay + config.workerTimeout : 0)
      assert.ok(spec.terminationGracePeriodSeconds * 1000 > needed, `${spec.terminationGracePeriodSeconds} s`)
    }
  })

  chartTest('secrets are referred to, never written', async () => {
    for (const values of await valueSets()) {
      const { spec } = await deployment(values)
      const secrets = spec.containers[0].env.filter(({ name }: EnvVar) => /KEY$|_URL$|TOKEN$/.test(name))
      assert.ok(secrets.length > 0)
      for (const { name, value, valueFrom } of secrets.filter(({ name }: EnvVar) => !name.startsWith('GATEHOUSE_TLS_')))
        assert.ok(value === undefined && valueFrom?.secretKeyRef !== undefined, name)
    }
  })

  chartTest('the migration runs once, before an upgrade, and only with PostgreSQL', async () => {
    const hooks = async (values: string, settings: readonly string[] = []) =>
      (await documents(values, settings)).filter(({ metadata }) => metadata.annotations?.['helm.sh/hook'] !== undefined)
    const [job, ...others] = await hooks(LEAST)
    assert.deepEqual(others, [])
    assert.deepEqual([job.kind, job.spec.template.spec.containers[0].args], ['Job', ['migrate', '--create']])
    assert.equal(job.metadata.annotations['helm.sh/hook'], 'pre-install,pre-upgrade')
    assert.deepEqual(await hooks('ci/sqlite-values.yaml'), [])
    assert.deepEqual(await hooks(LEAST, ['migrations.job=false']), [])
  })

  interface EnvVar {
    readonly name: string
    readonly value?: string
    readonly valueFrom?: { readonly secretKeyRef?: object }
  }

  async function documents(values: string, settings: readonly string[] = []) {
    return parseAllDocuments(await renderChart(tools.helm, values, settings)).map((document) => document.toJS())
  }

  async function deployment(values: string, settings: readonly string[] = []) {
    const found = (await documents(values, settings)).find(({ kind }) => kind === 'Deployment')
    return found.spec.template
  }
})
