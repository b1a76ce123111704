/** Helm, kubeconform and the schemas of Kubernetes, built or downloaded with Go at fixed versions and kept below node_modules/.cache. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const CACHE = join(ROOT, 'node_modules', '.cache', 'chart')

const HELM = { path: 'helm.sh/helm/v3/cmd/helm', version: 'v3.22.0' }
const KUBECONFORM = { path: 'github.com/yannh/kubeconform/cmd/kubeconform', version: 'v0.8.0' }
/** `api/openapi-spec` of its sources describes every kind. */
const KUBERNETES = { path: 'k8s.io/kubernetes', version: 'v1.36.3' }
/** Its sources have the definition of ServiceMonitor. */
const PROMETHEUS_OPERATOR = { path: 'github.com/prometheus-operator/prometheus-operator', version: 'v0.85.0' }

export const KUBERNETES_VERSION = KUBERNETES.version.slice(1)

/** What the machine lacks, in words for the person who runs the command. */
export class MissingTool extends Error {
  override name = 'MissingTool'
}

export interface ChartTools {
  readonly helm: string
  readonly kubeconform: string
  /** OpenAPI of Kubernetes. */
  readonly swagger: string
  /** The custom resource definition of ServiceMonitor. */
  readonly serviceMonitor: string
  /** For files that are derived from these. */
  readonly cache: string
}

export async function chartTools(): Promise<ChartTools> {
  await requireGo()
  await mkdir(CACHE, { recursive: true })
  const [helm, kubeconform] = [await build(HELM), await build(KUBECONFORM)]
  const [kubernetes, operator] = await Promise.all([readSources(KUBERNETES), readSources(PROMETHEUS_OPERATOR)])
  return {
    helm,
    kubeconform,
    swagger: join(kubernetes, 'api', 'openapi-spec', 'swagger.json'),
    serviceMonitor: join(operator, 'example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml'),
    cache: CACHE,
  }
}

async function requireGo(): Promise<void> {
  try {
    await run('go', ['version'])
  } catch {
    throw new MissingTool(
      'This needs Go 1.25 or later and its module proxy, to build Helm and kubeconform and to read the schemas of Kubernetes: install Go (go.dev/dl).',
    )
  }
}

interface GoModule {
  readonly path: string
  readonly version: string
}

/** The folder is named for the version, so that another version is built anew. */
async function build({ path, version }: GoModule): Promise<string> {
  const folder = join(CACHE, version)
  const name = path.split('/').at(-1) ?? ''
  if (!existsSync(join(folder, name)))
    await run('go', ['install', `${path}@${version}`], { env: { ...process.env, GOBIN: folder, GOFLAGS: '' } })
  return join(folder, name)
}

async function readSources({ path, version }: GoModule): Promise<string> {
  const { stdout } = await run('go', ['mod', 'download', '-json', `${path}@${version}`], { cwd: CACHE })
  const found: { Dir?: string } = JSON.parse(stdout)
  if (found.Dir === undefined) throw new Error(`Go did not say where it put ${path}`)
  return found.Dir
}

export async function readJson(file: string): Promise<unknown> {
  return JSON.parse(await readFile(file, 'utf8'))
}
