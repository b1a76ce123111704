/** The chart as Kubernetes sees it, and the plain manifest that is made from it. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { KUBERNETES_VERSION, ROOT } from './tools.ts'

const run = promisify(execFile)

export const CHART = join(ROOT, 'charts', 'gatehouse')
export const MANIFEST = join(ROOT, 'examples', 'kubernetes', 'gatehouse.yaml')
const MANIFEST_VALUES = 'ci/manifest-values.yaml'

/** The sets of values for which the chart is checked. */
export async function valueSets(): Promise<string[]> {
  return (await Array.fromAsync(glob('ci/*-values.yaml', { cwd: CHART }))).sort()
}

/** Throws what Helm says where it refuses the values. */
export async function renderChart(helm: string, values: string, settings: readonly string[] = []): Promise<string> {
  const more = settings.flatMap((setting) => ['--set-json', setting])
  const args = ['template', 'gatehouse', CHART, '--kube-version', KUBERNETES_VERSION, '--values', join(CHART, values)]
  const { stdout } = await run(helm, [...args, ...more])
  return stdout
}

export async function lintChart(helm: string, values: string): Promise<void> {
  await run(helm, ['lint', '--strict', CHART, '--kube-version', KUBERNETES_VERSION, '--values', join(CHART, values)])
}

export async function renderManifest(helm: string): Promise<string> {
  const rendered = await renderChart(helm, MANIFEST_VALUES)
  // What only Helm needs.
  const lines = rendered
    .split('\n')
    .filter((line) => !/^# Source: |^ +(app\.kubernetes\.io\/managed-by|helm\.sh\/chart): /.test(line))
  return `${header(await chartDigest())}${withoutHooks(lines).join('\n')}`
}

/** The annotation by which Helm keeps a claim means nothing to kubectl. */
function withoutHooks(lines: readonly string[]): string[] {
  return lines.filter(
    (line, index) =>
      !/^ +helm\.sh\/resource-policy:/.test(line) &&
      !(/^ +annotations:$/.test(line) && /^ +helm\.sh\/resource-policy:/.test(lines[index + 1] ?? '')),
  )
}

function header(digest: string): string {
  return `# Two nodes of Gatehouse on one PostgreSQL, behind an ingress that terminates TLS: kubectl apply -f gatehouse.yaml
#
# Made from charts/gatehouse by "npm run chart -- --write": edit the chart, not this file.
# Sources: sha256:${digest}
#
# Before: build the image (docs/install.md), push it to a registry that the cluster can reach, and replace the name of the
# image, the issuer and its host, and the network of the ingress below. Create the secrets:
#   kubectl create secret tls gatehouse-tls --cert=fullchain.pem --key=privkey.pem
#   kubectl create secret generic gatehouse \\
#     --from-literal=master-key="$(openssl rand -base64 32)" \\
#     --from-literal=database-url=postgres://gatehouse:PASSWORD@postgres:5432/gatehouse
# After: kubectl exec deploy/gatehouse -- gatehouse user first-admin
`
}

/** Of everything that the manifest is made from, so that npm test notices a stale one without Helm. */
export async function chartDigest(): Promise<string> {
  const files = await Array.fromAsync(
    glob(['Chart.yaml', 'values.yaml', 'templates/**', MANIFEST_VALUES], { cwd: CHART, withFileTypes: true }),
  )
  const paths = files.filter((file) => file.isFile()).map(({ parentPath, name }) => join(parentPath, name))
  const digest = createHash('sha256')
  for (const path of paths.sort()) digest.update(`${path.slice(CHART.length)}\0${await readFile(path, 'utf8')}\0`)
  return digest.digest('hex')
}
