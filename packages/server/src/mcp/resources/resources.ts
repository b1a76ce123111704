/** The resources of agents: the language, tables and topics of feeds, under URIs of their own. */
import { Refusal } from 'gatehouse-protocol'
import { type QueryService, viewFor } from '../../query/index.ts'
import type { Call, ResourceContents, Resources, Template } from '../protocol/features.ts'
import type { JsonObject } from '../protocol/json.ts'
import { shortText } from '../text/escape.ts'
import { CHART_URI } from '../tools/chart.ts'
import { iqlHelp } from '../tools/iql-guide.ts'
import { describe, requireReadable } from '../tools/tables.ts'
import { cutText, type Outcome } from '../tools/tool-set.ts'
import { FEED_URI, WATCH_URI } from '../watches/subscriptions.ts'
import { type Names, readableTables } from './names.ts'

const TEXT = 'text/plain'
const FOR_A_MINUTE = 60_000
const LISTED = 100
const IQL = { uri: 'gatehouse://iql', name: 'iql', description: 'The query language in short.', mimeType: TEXT }

/** MCP Apps 2026-01-26: a page that the client shows in a frame, with what tools gave it. */
const CHART = {
  uri: CHART_URI,
  name: 'chart',
  description: 'Draws the results of the tool chart.',
  mimeType: 'text/html;profile=mcp-app',
}
/** The page loads nothing and calls nobody. */
const CHART_META = { ui: { csp: { connectDomains: [], resourceDomains: [] }, prefersBorder: true } }

export interface ResourcesEnv {
  readonly query: QueryService
  readonly names: Names
  /** Counted as calls of tools are. */
  readonly reading: {
    watch(id: string, call: Call): Promise<Outcome>
    feed(name: string, topic: string, call: Call): Promise<Outcome>
  }
  /** In the first of the languages, as `Accept-Language` has them, that there is. */
  readonly chartPage: (languages: string | undefined) => Promise<string | undefined>
}

export function createResources({ query, names, reading, chartPage }: ResourcesEnv): Resources {
  return {
    templates: createTemplates(names),
    async list(cursor, { principal }) {
      const tables = readableTables(query, principal.scopes)
      // A table may have been dropped since it was the last one of a page.
      const after = cursor?.toLowerCase() ?? ''
      const rest = tables.filter((name) => name.toLowerCase() > after)
      const page = rest.slice(0, LISTED)
      const last = page.at(-1)
      const next = rest.length > LISTED && last !== undefined ? { nextCursor: last } : {}
      const described = page.map((name) => ({ ...tableResource(name), description: tableText(query, name) }))
      return { resources: cursor === undefined ? [IQL, CHART, ...described] : described, ...next }
    },
    async read(uri, call) {
      if (uri === IQL.uri) return textContents(uri, iqlHelp(undefined), FOR_A_MINUTE)
      if (uri === CHART.uri) return pageContents(await chartPage(call.languages))
      const table = variables(uri, /^gatehouse:\/\/table\/([^/]+)$/)?.[0]
      if (table !== undefined) return unlessUnknown(() => readTable(uri, table, query, call))
      const watch = variables(uri, WATCH_URI)?.[0]
      if (watch !== undefined)
        return unlessUnknown(async () => textContents(uri, (await reading.watch(watch, call)).text, 0))
      const [feed, topic] = variables(uri, FEED_URI) ?? []
      if (feed === undefined || topic === undefined) return undefined
      return unlessUnknown(async () => textContents(uri, (await reading.feed(feed, topic, call)).text, 0))
    },
  }
}

function createTemplates({ tables, feeds, topics }: Names): readonly Template[] {
  return [
    {
      uriTemplate: 'gatehouse://table/{name}',
      name: 'table',
      description: 'Columns, keys and indexes of a table or view.',
      mimeType: TEXT,
      complete: new Map([['name', tables]]),
    },
    {
      uriTemplate: 'gatehouse://watch/{id}',
      name: 'watch',
      description: 'The result of a watch as it is now.',
      mimeType: TEXT,
      complete: new Map(),
    },
    {
      uriTemplate: 'gatehouse://feed/{feed}/{+topic}',
      name: 'feed',
      description: 'The newest message of a topic of a feed.',
      mimeType: TEXT,
      complete: new Map([
        ['feed', feeds],
        ['topic', topics],
      ]),
    },
  ]
}

function tableResource(name: string): JsonObject & { readonly uri: string } {
  return { uri: `gatehouse://table/${encodeURIComponent(name)}`, name, mimeType: TEXT }
}

function tableText({ catalogue }: QueryService, name: string): string {
  return shortText(catalogue.findDefinition(name)?.description ?? '')
}

async function readTable(
  uri: string,
  name: string,
  query: QueryService,
  call: Call,
): Promise<ResourceContents | undefined> {
  if (viewFor(query.catalogue, call.principal.scopes).lookup(name) === undefined) return undefined
  return textContents(uri, describe(requireReadable(query, name, call), query).join('\n'), FOR_A_MINUTE)
}

function textContents(uri: string, text: string, ttlMs: number): ResourceContents {
  return { contents: [{ uri, mimeType: TEXT, text: cutText(text) }], ttlMs }
}

function pageContents(text: string | undefined): ResourceContents | undefined {
  if (text === undefined) return undefined
  const { uri, mimeType } = CHART
  return { contents: [{ uri, mimeType, text, _meta: CHART_META }], ttlMs: FOR_A_MINUTE }
}

/** What does not exist, or not for the caller. */
async function unlessUnknown(read: () => Promise<ResourceContents | undefined>): Promise<ResourceContents | undefined> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof Refusal && error.status < 500 && error.status !== 429) return undefined
    throw error
  }
}

/** The variables of a URI, decoded; undefined if it has another form. */
function variables(uri: string, form: RegExp): readonly string[] | undefined {
  try {
    return form.exec(uri)?.slice(1).map(decodeURIComponent)
  } catch {
    return undefined
  }
}
