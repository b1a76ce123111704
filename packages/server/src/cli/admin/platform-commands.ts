/** `gatehouse keys …`, `session …`, `queries …`, `audit …`, `nodes …`, `backups …`, `settings …` */
import type { Arguments, OptionName, OptionTable } from '../args.ts'
import { UsageError } from '../errors.ts'
import { asObject, type JsonObject } from '../output/json.ts'
import { create, list, listPage, named, remove } from './actions.ts'
import {
  type AdminCommand,
  type AdminCommandCall,
  type AdminRequest,
  PAGE_OPTIONS,
  segment,
  withoutUndefined,
} from './admin-command.ts'

const FILTERS: OptionTable = {
  '--event': { value: 'NAME', help: 'a name such as token.refused, or its first part' },
  '--changes': { help: 'only changes made by people, without sign-ins, tokens and refusals' },
  '--outcome': { value: 'OUTCOME', help: 'success or refused' },
  '--actor': { value: 'USER', help: 'the user who acted, by name or id, or the client' },
  '--target': { value: 'NAME', help: 'what was acted on: a user by name or id, a client, a role, …' },
  '--address': { value: 'ADDRESS', help: 'the network address of the caller' },
  '--since': { value: 'TIME', help: 'not before this time (ISO 8601)' },
  '--until': { value: 'TIME', help: 'before this time (ISO 8601)' },
}

export const PLATFORM_COMMANDS: readonly AdminCommand[] = [
  {
    name: 'keys list',
    summary: 'Lists the signing keys.',
    examples: ['keys list'],
    run: list('/admin/keys', ['kid', 'alg', 'state', 'active_from', 'retired_at', 'removed_after']),
  },
  {
    name: 'keys rotate',
    options: {
      '--alg': { value: 'ALG', help: 'the algorithm whose key is rotated (default: RS256)' },
      '--active-in': { value: 'SECONDS', help: 'how long until it starts to sign (default: one day)' },
    },
    summary: 'Creates a signing key that is published now and signs later.',
    examples: ['keys rotate', 'keys rotate --alg ES256 --active-in 0'],
    run: create('/admin/keys', ({ args }) =>
      withoutUndefined({ alg: args.value('--alg'), active_in: args.integer('--active-in') }),
    ),
  },
  {
    name: 'keys retire',
    positionals: ['KID'],
    options: {
      '--compromised': { help: 'remove it at once: every token that it signed is refused' },
    },
    summary: 'Retires a signing key; it never signs again.',
    examples: ['keys retire 7fX… --yes', 'keys retire 7fX… --compromised --yes'],
    confirm: ([kid]) => `Permanently retire the key ${kid}?`,
    async run({ args, request }) {
      const isCompromised = args.has('--compromised')
      await request('DELETE', `${named('/admin/keys')(args)}${isCompromised ? '?compromised=true' : ''}`)
      const text = isCompromised ? 'is retired as compromised, and its tokens are refused' : 'is retired'
      return { kind: 'text', text: `The key ${args.positionals[0]} ${text}.` }
    },
  },
  {
    name: 'session list',
    options: { '--user': { value: 'USER', help: 'only sessions of this user or client' }, ...PAGE_OPTIONS },
    summary: 'Lists the live streaming sessions of all nodes, newest first.',
    examples: ['session list', 'session list --user alice --server https://gate.example.com'],
    run: listPage(
      '/admin/streams',
      ['id', 'username', 'client', 'address', 'opened_at', 'subscriptions', 'node'],
      (args) => ({ user: args.value('--user') }),
    ),
  },
  {
    name: 'session kick',
    options: {
      '--connection': { value: 'ID', help: 'close this session' },
      '--user': { value: 'USER', help: 'close every session of this user or client' },
    },
    summary: 'Closes live streaming sessions on any node.',
    examples: ['session kick --user alice --yes'],
    confirm: () => 'Close these live sessions?',
    async run({ args, request }) {
      const [connection, user] = [args.value('--connection'), args.value('--user')]
      if ((connection === undefined) === (user === undefined))
        throw new UsageError('session kick needs either --connection ID or --user USER')
      const { body } = await request(
        'DELETE',
        user === undefined ? `/admin/streams/${segment(connection)}` : `/admin/streams?user=${segment(user)}`,
      )
      const { closed } = asObject(body)
      const text =
        closed === 0
          ? 'There were no sessions to close.'
          : `${closed} ${closed === 1 ? 'session was' : 'sessions were'} closed.`
      return { kind: 'text', text, body }
    },
  },
  {
    name: 'wire list',
    options: { '--user': { value: 'USER', help: 'only connections of this user or client' }, ...PAGE_OPTIONS },
    summary: "Lists the connections of tools that use PostgreSQL's protocol, on all nodes, newest first.",
    examples: ['wire list', 'wire list --user alice --server https://gate.example.com'],
    run: listPage(
      '/admin/wire',
      ['id', 'username', 'client', 'address', 'application', 'state', 'opened_at', 'expires_at', 'node'],
      (args) => ({ user: args.value('--user') }),
    ),
  },
  {
    name: 'wire kick',
    options: {
      '--connection': { value: 'ID', help: 'close this connection' },
      '--user': { value: 'USER', help: 'close every connection of this user or client' },
    },
    summary: "Closes connections of tools that use PostgreSQL's protocol, on any node.",
    examples: ['wire kick --user alice --yes'],
    confirm: () => 'Close these connections?',
    async run({ args, request }) {
      const [connection, user] = [args.value('--connection'), args.value('--user')]
      if ((connection === undefined) === (user === undefined))
        throw new UsageError('wire kick needs either --connection ID or --user USER')
      const { body } = await request(
        'DELETE',
        user === undefined ? `/admin/wire/${segment(connection)}` : `/admin/wire?user=${segment(user)}`,
      )
      const { closed } = asObject(body)
      const text =
        closed === 0
          ? 'There were no connections to close.'
          : `${closed} ${closed === 1 ? 'connection was' : 'connections were'} closed.`
      return { kind: 'text', text, body }
    },
  },
  {
    name: 'queries list',
    summary: 'Lists the running queries and live statements of all nodes.',
    examples: ['queries list', 'queries list --server https://gate.example.com'],
    run: list('/admin/queries', ['id', 'kind', 'username', 'client', 'started_at', 'node', 'statement']),
  },
  {
    name: 'queries cancel',
    positionals: ['QUERY'],
    summary: 'Cancels a running query, or ends a live statement, on any node.',
    examples: ['queries cancel 0b1c… --yes'],
    confirm: ([query]) => `Cancel the query ${query}?`,
    run: remove('/admin/queries', (query) => `The query ${query} was cancelled.`),
  },
  {
    name: 'audit list',
    options: { ...FILTERS, '--limit': { value: 'COUNT', help: 'the maximum number of rows (default 100)' } },
    summary: 'Shows the audit log, newest first.',
    examples: [
      'audit list --event signin',
      'audit list --changes',
      'audit list --actor alice --since 2026-11-01T00:00:00Z --json',
    ],
    run: list(
      (args) => `/admin/audit?${filter(args, ['--limit'])}`,
      ['seq', 'at', 'event', 'actor', 'client', 'target', 'address', 'details'],
    ),
  },
  {
    name: 'audit follow',
    options: FILTERS,
    summary: 'Prints new entries of the audit log as they are written, one JSON object per line.',
    examples: ['audit follow', 'audit follow --event signin --server https://gate.example.com'],
    run: async (call) => ({ kind: 'lines', lines: followLog(call) }),
  },
  {
    name: 'audit export',
    options: FILTERS,
    summary: 'Writes the audit log, oldest first, one JSON object per line.',
    examples: ['audit export > audit.ndjson', 'audit export --since 2026-11-01T00:00:00Z'],
    async run({ args, request }) {
      const { lines } = await request('GET', `/admin/audit/export?${filter(args)}`)
      if (lines === undefined) throw new Error('The export is not NDJSON')
      return { kind: 'lines', lines }
    },
  },
  {
    name: 'audit verify',
    options: { '--head': { value: 'SEQ:HASH', help: 'a head recorded earlier, which the log must still contain' } },
    summary: 'Verifies the audit log; the exit status is 1 if the log was altered.',
    examples: ['audit verify', 'audit verify --head 1042:9f86d081…'],
    async run({ args, request }) {
      const head = args.value('--head')
      const body = await verify(request, `/admin/audit/verify${head === undefined ? '' : `?head=${segment(head)}`}`)
      return { kind: 'text', body, ...verdict(body) }
    },
  },
  {
    name: 'nodes list',
    summary: 'Lists the nodes with version, uptime, readiness, event-loop lag, connections and queries.',
    examples: ['nodes list', 'nodes list --json --server https://gate.example.com'],
    async run({ request }) {
      const { body } = await request('GET', '/admin/nodes')
      const columns = [
        'node',
        ...(hasWorkers(body) ? ['worker'] : []),
        'version',
        'ready',
        'uptime_seconds',
        'event_loop_lag_ms',
        'connections',
        'streams',
        'queries',
      ]
      return { kind: 'table', columns, body }
    },
  },
  {
    name: 'backups list',
    options: { '--limit': { value: 'COUNT', help: 'the maximum number of entries (default 20)' } },
    summary: 'Lists the latest backups and restores in the audit log.',
    examples: ['backups list'],
    run: list(
      (args) => {
        const limit = args.integer('--limit', { least: 1, most: 1000 })
        return `/admin/backups${limit === undefined ? '' : `?limit=${limit}`}`
      },
      ['kind', 'at', 'rows', 'bytes', 'node'],
    ),
  },
  {
    name: 'backups status',
    summary: 'Shows how far the copy at backup_url is: the last moment in it, the lag, the last verified restore.',
    examples: ['backups status'],
    async run({ request }) {
      const { replication } = asObject((await request('GET', '/admin/backups?limit=1')).body)
      return { kind: 'object', body: replication ?? { error: 'Nothing is replicated: set backup_url' } }
    },
  },
  {
    name: 'backups take',
    summary: 'Has all pages of the databases sent to backup_url again.',
    examples: ['backups take'],
    run: ask('take', 'All pages will be sent to backup_url again'),
  },
  {
    name: 'backups verify',
    summary: 'Has what was sent to backup_url restored beside the data, checked and removed again.',
    examples: ['backups verify'],
    run: ask('verify', 'The copy will be restored and checked; "gatehouse backups status" shows when it was'),
  },
  {
    name: 'settings list',
    summary: 'Shows the settings of the server, or without --server those of this command line.',
    examples: ['settings list --server https://gate.example.com'],
    run: list('/admin/settings', ['name', 'value', 'source']),
  },
]

function ask(request: 'take' | 'verify', text: string): AdminCommand['run'] {
  return async (call) => {
    await call.request('POST', `/admin/backups/${request}`)
    return { kind: 'text', text: `${text}.` }
  }
}

/** Whether a node of the list is one of several workers of a machine. */
function hasWorkers(body: unknown): boolean {
  const { items } = asObject(body)
  return Array.isArray(items) && items.some((item) => typeof asObject(item).worker === 'number')
}

function filter(args: Arguments, more: readonly OptionName[] = []): URLSearchParams {
  const query = new URLSearchParams()
  for (const name of [...(Object.keys(FILTERS) as OptionName[]), ...more]) {
    const value = name === '--changes' ? (args.has(name) ? 'true' : undefined) : args.value(name)
    if (value !== undefined) query.set(name.slice(2), value)
  }
  return query
}

/** From the row that is the last one now. */
async function* followLog({ args, request }: AdminCommandCall): AsyncGenerator<string> {
  const { body: newest } = await request('GET', '/admin/audit?limit=1')
  const [last] = readItems(newest)
  const query = new URLSearchParams([...filter(args), ['after', String(last?.seq ?? 0)], ['wait', '20']])
  let path = `/admin/audit?${query}`
  for (;;) {
    const { body } = await request('GET', path)
    for (const item of readItems(body)) yield `${JSON.stringify(item)}\n`
    path = String(asObject(body).next)
  }
}

/** All steps of the verification as one. */
async function verify(request: AdminRequest, path: string): Promise<JsonObject> {
  const faults: unknown[] = []
  let rows = 0
  for (let next: string | null = path; ; ) {
    const step = asObject((await request('GET', next)).body)
    rows += Number(step.rows)
    if (Array.isArray(step.faults)) faults.push(...step.faults)
    if (typeof step.next !== 'string') return { rows, head: step.head, faults }
    next = step.next
  }
}

function readItems(body: unknown): readonly JsonObject[] {
  const { items } = asObject(body)
  return Array.isArray(items) ? items.map(asObject) : []
}

function verdict(body: unknown): { text: string; failed: boolean } {
  const { rows, head, faults } = body as {
    rows: number
    head: { seq: number; hash: string }
    faults: readonly { message: string }[]
  }
  if (faults.length > 0)
    return {
      failed: true,
      text: `The audit log was altered:\n${faults.map(({ message }) => `  ${message}`).join('\n')}`,
    }
  return { failed: false, text: `The audit log is intact: ${rows} rows. Head ${head.seq}:${head.hash}` }
}
