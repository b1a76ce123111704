/** `gatehouse keys …`, `session …`, `queries …`, `audit …`, `settings` */
import { Usage } from '../command.ts'
import { type AdminCommand, type AdminOption, segment } from './command.ts'

const FILTERS: Readonly<Record<`--${string}`, AdminOption>> = {
  '--event': { kind: 'value', value: 'NAME', help: 'a name like token.refused, or its first part' },
  '--outcome': { kind: 'value', value: 'OUTCOME', help: 'success or refused' },
  '--actor': { kind: 'value', value: 'ID', help: 'who did it' },
  '--target': { kind: 'value', value: 'ID', help: 'to whom or what' },
  '--address': { kind: 'value', value: 'ADDRESS', help: 'from where' },
  '--since': { kind: 'value', value: 'TIME', help: 'not before this time (ISO 8601)' },
  '--until': { kind: 'value', value: 'TIME', help: 'before this time (ISO 8601)' },
}

export const PLATFORM_COMMANDS: readonly AdminCommand[] = [
  {
    name: 'keys list',
    words: [],
    summary: 'Lists the signing keys.',
    examples: ['keys list'],
    async run({ request }) {
      const { body } = await request('GET', '/admin/keys')
      return { kind: 'table', columns: ['kid', 'state', 'active_from', 'retired_at', 'removed_after'], body }
    },
  },
  {
    name: 'keys rotate',
    words: [],
    options: {
      '--active-in': { kind: 'value', value: 'SECONDS', help: 'when it begins to sign; a day when left out' },
    },
    summary: 'Makes a signing key that is published now and signs later.',
    examples: ['keys rotate', 'keys rotate --active-in 0'],
    async run({ option, request }) {
      const seconds = option('--active-in')
      const body = seconds === undefined ? {} : { active_in: Number(seconds) }
      return { kind: 'object', body: (await request('POST', '/admin/keys', { body })).body }
    },
  },
  {
    name: 'keys retire',
    words: ['KID'],
    options: {
      '--compromised': { kind: 'switch', help: 'withdraw it at once: every token that it signed is refused' },
    },
    summary: 'Retires a signing key: it never signs again.',
    examples: ['keys retire 7fX… --yes', 'keys retire 7fX… --compromised --yes'],
    confirm: ([kid]) => `Retire the key ${kid} for good?`,
    async run({ words: [kid], has, request }) {
      const isCompromised = has('--compromised')
      await request('DELETE', `/admin/keys/${segment(kid)}${isCompromised ? '?compromised=true' : ''}`)
      const text = isCompromised ? `is withdrawn, with everything that it signed` : 'is retired'
      return { kind: 'text', text: `The key ${kid} ${text}.` }
    },
  },
  {
    name: 'session list',
    words: [],
    options: { '--user': { kind: 'value', value: 'ID', help: 'only those of this user' } },
    summary: 'Lists the live streaming sessions of every node.',
    examples: ['session list', 'session list --server https://gate.example.com'],
    async run({ option, request }) {
      const user = option('--user')
      const { body } = await request(
        'GET',
        user === undefined ? '/admin/streams' : `/admin/streams?user=${segment(user)}`,
      )
      return {
        kind: 'table',
        columns: ['id', 'username', 'client', 'address', 'opened_at', 'subscriptions', 'node'],
        body,
      }
    },
  },
  {
    name: 'session kick',
    words: [],
    options: {
      '--connection': { kind: 'value', value: 'ID', help: 'this live session' },
      '--user': { kind: 'value', value: 'ID', help: 'every live session of this user' },
    },
    summary: 'Closes live streaming sessions, on whichever node they are.',
    examples: ['session kick --user usr_7d… --yes'],
    confirm: () => 'Close these live sessions?',
    async run({ option, request }) {
      const [connection, user] = [option('--connection'), option('--user')]
      if ((connection === undefined) === (user === undefined)) throw new Usage('Name --connection or --user')
      await request(
        'DELETE',
        user === undefined ? `/admin/streams/${segment(connection)}` : `/admin/streams?user=${segment(user)}`,
      )
      return { kind: 'text', text: 'The live sessions were told to close.' }
    },
  },
  {
    name: 'queries list',
    words: [],
    summary: 'Lists the queries that run now on every node.',
    examples: ['queries list', 'queries list --server https://gate.example.com'],
    async run({ request }) {
      const { body } = await request('GET', '/admin/queries')
      return { kind: 'table', columns: ['id', 'user', 'client', 'started_at', 'node', 'statement'], body }
    },
  },
  {
    name: 'queries cancel',
    words: ['QUERY'],
    summary: 'Cancels a running query, on whichever node it is.',
    examples: ['queries cancel 0b1c… --yes'],
    confirm: ([query]) => `Cancel the query ${query}?`,
    async run({ words: [query], request }) {
      await request('DELETE', `/admin/queries/${segment(query)}`)
      return { kind: 'text', text: `The query ${query} was cancelled.` }
    },
  },
  {
    name: 'audit list',
    words: [],
    options: { ...FILTERS, '--limit': { kind: 'value', value: 'COUNT', help: 'rows, 100 when left out' } },
    summary: 'Shows the audit log, newest first.',
    examples: ['audit list --event signin', 'audit list --actor usr_7d… --since 2026-11-01T00:00:00Z --json'],
    async run(call) {
      const { body } = await call.request('GET', `/admin/audit?${filter(call, ['--limit'])}`)
      return { kind: 'table', columns: ['seq', 'at', 'event', 'actor', 'client', 'target', 'address', 'details'], body }
    },
  },
  {
    name: 'audit export',
    words: [],
    options: FILTERS,
    summary: 'Writes the audit log, oldest first, one JSON object a line.',
    examples: ['audit export > audit.ndjson', 'audit export --since 2026-11-01T00:00:00Z'],
    async run(call) {
      const { lines } = await call.request('GET', `/admin/audit/export?${filter(call)}`)
      if (lines === undefined) throw new Error('The export has no lines')
      return { kind: 'lines', lines }
    },
  },
  {
    name: 'audit verify',
    words: [],
    options: { '--head': { kind: 'value', value: 'SEQ:HASH', help: 'a head noted earlier that must still be there' } },
    summary: 'Says whether the audit log is what was written; status 1 when it is not.',
    examples: ['audit verify', 'audit verify --head 1042:9f86d081…'],
    async run({ option, request }) {
      const head = option('--head')
      const { body } = await request(
        'GET',
        head === undefined ? '/admin/audit/verify' : `/admin/audit/verify?head=${segment(head)}`,
      )
      return { kind: 'text', body, ...verdict(body) }
    },
  },
  {
    name: 'settings list',
    words: [],
    summary: 'Shows the settings in force on the server that answers.',
    examples: ['settings list --server https://gate.example.com'],
    async run({ request }) {
      return {
        kind: 'table',
        columns: ['name', 'value', 'source'],
        body: (await request('GET', '/admin/settings')).body,
      }
    },
  },
]

type Call = Parameters<AdminCommand['run']>[0]

function filter({ option }: Call, more: readonly `--${string}`[] = []): URLSearchParams {
  const query = new URLSearchParams()
  for (const name of [...(Object.keys(FILTERS) as `--${string}`[]), ...more]) {
    const value = option(name)
    if (value !== undefined) query.set(name.slice(2), value)
  }
  return query
}

function verdict(body: unknown): { text: string; failed: boolean } {
  const { rows, head, faults } = body as {
    rows: number
    head: { seq: number; hash: string }
    faults: readonly { message: string }[]
  }
  if (faults.length > 0)
    return { failed: true, text: `The audit log is broken:\n${faults.map(({ message }) => `  ${message}`).join('\n')}` }
  return { failed: false, text: `The audit log is whole: ${rows} rows. Head ${head.seq}:${head.hash}` }
}
