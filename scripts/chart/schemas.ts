/** JSON Schemas of the kinds of Kubernetes, from its OpenAPI document, in the files that kubeconform reads. Unknown members are errors. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'yaml'
import { type ChartTools, KUBERNETES_VERSION, readJson } from './tools.ts'

type Json = Readonly<Record<string, unknown>>

const DEFINITIONS = 'definitions.json'
/** The schemas of some names say less than Kubernetes accepts. */
const BY_NAME: ReadonlyMap<string, Json> = new Map([
  ['io.k8s.apimachinery.pkg.util.intstr.IntOrString', { type: ['integer', 'string'] }],
  ['io.k8s.apimachinery.pkg.api.resource.Quantity', { type: ['number', 'string'] }],
])

/** Resolves with the pattern of file names, for `-schema-location`. */
export async function writeSchemas({ swagger, serviceMonitor, cache }: ChartTools): Promise<string> {
  const folder = join(cache, `schemas-${KUBERNETES_VERSION}`)
  await mkdir(folder, { recursive: true })
  const definitions = Object.entries(record(record(await readJson(swagger)).definitions))
  const strict = definitions.map(([name, schema]) => [name, BY_NAME.get(name) ?? closed(schema)] as const)
  await writeFile(join(folder, DEFINITIONS), JSON.stringify({ definitions: Object.fromEntries(strict) }))
  for (const [name, schema] of definitions) {
    for (const kind of listKinds(schema)) {
      const required = {
        allOf: [{ $ref: `${DEFINITIONS}#/definitions/${name}` }, { required: ['apiVersion', 'kind'] }],
      }
      await writeFile(join(folder, filePath(kind)), JSON.stringify(required))
    }
  }
  await writeCustom(serviceMonitor, folder)
  return join(folder, '{{.ResourceKind}}{{.KindSuffix}}.json')
}

async function writeCustom(file: string, folder: string): Promise<void> {
  const { group, names, versions } = record(record(parse(await readFile(file, 'utf8'))).spec)
  for (const version of list(versions).map(record)) {
    const schema = closed(record(version.schema).openAPIV3Schema)
    const withMetadata = { ...schema, properties: { ...record(schema.properties), metadata: { type: 'object' } } }
    const kind = { group: String(group), version: String(version.name), kind: String(record(names).kind) }
    await writeFile(join(folder, filePath(kind)), JSON.stringify(withMetadata))
  }
}

interface Kind {
  readonly group: string
  readonly version: string
  readonly kind: string
}

function listKinds(schema: unknown): Kind[] {
  const kinds = list(record(schema)['x-kubernetes-group-version-kind'] ?? []).map(record)
  return kinds.map(({ group, version, kind }) => ({
    group: String(group),
    version: String(version),
    kind: String(kind),
  }))
}

/** As kubeconform names it: the first word of the group only. */
function filePath({ group, version, kind }: Kind): string {
  const [word = ''] = group.split('.')
  return `${[kind, ...(word === '' ? [] : [word]), version].join('-').toLowerCase()}.json`
}

/** Everywhere in a schema, an object has the members that are listed and no others. */
function closed(schema: unknown): Json {
  const found = record(schema)
  const entries = Object.entries(found).map(([keyword, value]) => [keyword, inside(keyword, value)] as const)
  // Vendor keywords say what JSON Schema cannot.
  const known = Object.fromEntries(entries.filter(([keyword]) => !keyword.startsWith('x-') && keyword !== 'format'))
  if (found['x-kubernetes-int-or-string'] === true) return { type: ['integer', 'string'] }
  return found.properties === undefined || found.additionalProperties !== undefined
    ? known
    : { ...known, additionalProperties: false }
}

function inside(keyword: string, value: unknown): unknown {
  if (keyword === 'properties')
    return Object.fromEntries(Object.entries(record(value)).map(([name, schema]) => [name, closed(schema)]))
  if (keyword === 'items' || (keyword === 'additionalProperties' && typeof value === 'object')) return closed(value)
  if (keyword === '$ref') return String(value).replace('#/definitions/', `${DEFINITIONS}#/definitions/`)
  return value
}

function record(value: unknown): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('an object was expected')
  return Object.fromEntries(Object.entries(value))
}

function list(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new Error('a list was expected')
  return value
}
