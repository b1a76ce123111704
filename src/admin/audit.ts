/** Reading, exporting and verifying the audit log. */
import { AUDIT_EVENTS } from '../protocol/audit-events.ts'
import { Refusal } from '../protocol/refusal.ts'
import { type AuditFilter, exportAuditLog, presentAuditRow, readAuditPage } from '../store/audit-read.ts'
import { verifyAuditLog } from '../store/audit-verify.ts'
import { readCount } from './body.ts'
import { record } from './change.ts'
import type { AdminCall, AdminRoute } from './route.ts'

const FILTERS = {
  event: 'A name like token.refused, or its first part: token.',
  outcome: 'success or refused.',
  actor: 'Who did it.',
  client: 'Through which client.',
  target: 'To whom or what.',
  address: 'From where.',
  since: 'Not before this time (ISO 8601).',
  until: 'Before this time (ISO 8601).',
} as const

export const auditRoutes: readonly AdminRoute[] = [
  {
    method: 'GET',
    path: '/admin/audit',
    scope: 'Identity/Admin',
    summary: 'Reads the audit log, newest first.',
    query: {
      ...FILTERS,
      before: 'Rows before this sequence number.',
      limit: 'Rows on a page: 1 to 1000, 100 by default.',
    },
    reply: '{"items": […], "next": "the address of the next page or null"}',
    async run(call, { database, audit }) {
      await audit.flush()
      const limit = readCount(call.query.limit, 'limit', 100, 1000)
      const before =
        call.query.before === undefined ? undefined : readCount(call.query.before, 'before', 1, 999_999_999)
      const rows = await readAuditPage(database.db, readFilter(call), { before, limit })
      const last = rows.length === limit ? rows.at(-1) : undefined
      const next =
        last === undefined
          ? null
          : `/admin/audit?${new URLSearchParams({ ...call.query, before: String(last.seq), limit: String(limit) })}`
      return { body: { items: rows.map(presentAuditRow), next } }
    },
  },
  {
    method: 'GET',
    path: '/admin/audit/export',
    scope: 'Identity/Admin',
    summary: 'Exports the audit log, oldest first, one JSON object a line.',
    query: FILTERS,
    reply: 'The rows.',
    mediaType: 'application/x-ndjson',
    async run(call, env) {
      const filter = readFilter(call)
      record(env, call, { event: 'audit.exported' })
      await env.audit.flush()
      return { lines: exportAuditLog(env.database.db, filter) }
    },
  },
  {
    method: 'GET',
    path: '/admin/audit/verify',
    scope: 'Identity/Admin',
    summary: 'Walks the chain of the audit log and says whether it is whole.',
    query: { head: 'A head noted earlier, as SEQ:HASH, that must still be in the log.' },
    reply: '{"rows", "head": {"seq", "hash"}, "faults": […]}',
    async run(call, { database, audit }) {
      await audit.flush()
      return { body: await verifyAuditLog(database, readHead(call.query.head)) }
    },
  },
]

function readFilter({ query }: AdminCall): AuditFilter {
  const names = Object.keys(AUDIT_EVENTS)
  if (query.event !== undefined && !names.some((name) => name === query.event || name.startsWith(`${query.event}.`)))
    throw new Refusal('admin.bad_parameter', 400, `event is one of ${names.join(', ')}`)
  const { event, outcome, actor, client, target, address } = query
  return {
    event,
    outcome,
    actor,
    client,
    target,
    address,
    since: readTime(query.since, 'since'),
    until: readTime(query.until, 'until'),
  }
}

function readTime(text: string | undefined, name: string): number | undefined {
  if (text === undefined) return undefined
  const time = Date.parse(text)
  if (Number.isNaN(time)) throw new Refusal('admin.bad_parameter', 400, `${name} is a time like 2026-11-15T00:26:00Z`)
  return time
}

function readHead(text: string | undefined): { seq: number; hash: string } | undefined {
  if (text === undefined) return undefined
  const [, seq = '', hash = ''] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? []
  if (seq === '')
    throw new Refusal('admin.bad_parameter', 400, 'head looks like 42:0123… (sequence number, colon, hash)')
  return { seq: Number(seq), hash }
}
