/** Reading, exporting and verifying the audit log. */
import { AUDIT_EVENTS } from '../protocol/audit-events.ts'
import { Refusal } from '../protocol/refusal.ts'
import { type AuditFilter, exportAuditLog, presentAuditRow, readAuditPage } from '../store/audit-read.ts'
import { verifyAuditLog } from '../store/audit-verify.ts'
import { record } from './change.ts'
import { readCount, readTime } from './parameters.ts'
import type { AdminCall, AdminEnv, AdminRoute } from './route.ts'
import { requireActor, targetsOf } from './subjects.ts'

const FILTERS = {
  event: 'An event name such as token.refused, or its first part, such as token.',
  outcome: 'success or refused.',
  actor: 'The user or client who did it, by name or id.',
  client: 'The client through which it was done.',
  target: 'The affected user, by name or id, or the name of another object.',
  address: 'The address of the caller.',
  since: 'At or after this time (ISO 8601).',
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
      limit: 'Rows per page: 1 to 1000, default 100.',
    },
    reply: '{"items": […], "next": "the path of the next page or null"}',
    async run(call, env) {
      const { database } = env
      await env.audit.flush()
      const limit = readCount(call.query.limit, 'limit', 100, 1000)
      const before =
        call.query.before === undefined ? undefined : readCount(call.query.before, 'before', 1, 999_999_999)
      const rows = await readAuditPage(database.db, await readFilter(call, env), { before, limit })
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
    summary: 'Exports the audit log, oldest first, one JSON object per line.',
    query: FILTERS,
    reply: 'The rows.',
    mediaType: 'application/x-ndjson',
    async run(call, env) {
      const filter = await readFilter(call, env)
      record(env, call, { event: 'audit.exported' })
      await env.audit.flush()
      return { lines: exportAuditLog(env.database.db, filter) }
    },
  },
  {
    method: 'GET',
    path: '/admin/audit/verify',
    scope: 'Identity/Admin',
    summary: 'Verifies the hash chain of the audit log.',
    query: { head: 'A head recorded earlier, as SEQ:HASH, that must still be in the log.' },
    reply: '{"rows", "head": {"seq", "hash"}, "faults": […]}',
    async run(call, { database, audit }) {
      await audit.flush()
      return { body: await verifyAuditLog(database, readHead(call.query.head)) }
    },
  },
]

async function readFilter({ query }: AdminCall, { stores, database }: AdminEnv): Promise<AuditFilter> {
  const names = Object.keys(AUDIT_EVENTS)
  if (query.event !== undefined && !names.some((name) => name === query.event || name.startsWith(`${query.event}.`)))
    throw new Refusal('admin.bad_parameter', 400, `event must be one of ${names.join(', ')}`)
  const { event, outcome, actor, client, target, address } = query
  return {
    event,
    outcome,
    actor: actor === undefined ? undefined : await requireActor(stores, database, actor),
    client,
    targets: target === undefined ? undefined : await targetsOf(stores, target),
    address,
    since: readTime(query.since, 'since'),
    until: readTime(query.until, 'until'),
  }
}

function readHead(text: string | undefined): { seq: number; hash: string } | undefined {
  if (text === undefined) return undefined
  const [, seq = '', hash = ''] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? []
  if (seq === '') throw new Refusal('admin.bad_parameter', 400, 'head must have the form SEQ:HASH, such as 42:0123…')
  return { seq: Number(seq), hash }
}
