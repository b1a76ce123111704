/** Reading, following, exporting and verifying the audit log. */
import { setTimeout as sleep } from 'node:timers/promises'
import { AUDIT_EVENTS, Refusal } from 'gatehouse-protocol'
import { subjectNames } from '../store/accounts/subject-names.ts'
import { USER_ID_PREFIX } from '../store/accounts/user.ts'
import {
  type AuditFilter,
  exportAuditLog,
  followAuditLog,
  isNamed,
  presentAuditRow,
  readHead,
  scanAuditPage,
} from '../store/audit/read.ts'
import { verifyAuditStep } from '../store/audit/verify.ts'
import type { AuditRow } from '../store/database/schema.ts'
import { record } from './request/change.ts'
import { readCount, readFlag, readTime } from './request/parameters.ts'
import type { AdminCall, AdminEnv, AdminReply, AdminRoute } from './route.ts'
import { findTargets, requireActor } from './subjects.ts'

const FILTERS = {
  event: 'An event name such as token.refused, or its first part, such as token.',
  changes: 'true: only changes made by people, without sign-ins, tokens and refusals.',
  outcome: 'success or refused.',
  actor: 'The user or client who did it, by name or id.',
  client: 'The client through which it was done.',
  target: 'The affected user, by name or id, or the name of another object.',
  address: 'The address of the caller.',
  since: 'At or after this time (ISO 8601).',
  until: 'Before this time (ISO 8601).',
} as const

const MOST_ROWS = 999_999_999
const LONGEST_WAIT_S = 30
const POLL_MS = 500
/** Rows of a step of the verification. */
const DEFAULT_STEP = 20_000
const LARGEST_STEP = 100_000

export const auditRoutes: readonly AdminRoute[] = [
  {
    method: 'GET',
    path: '/admin/audit',
    scope: 'Identity/Admin',
    summary: 'Reads the audit log, newest first; with `after` oldest first, and with `wait` as it is written.',
    query: {
      ...FILTERS,
      before: 'Rows before this sequence number.',
      after: 'Rows after this sequence number, oldest first; not together with before.',
      wait: `With after: how many seconds to wait for rows, 1 to ${LONGEST_WAIT_S}. Then next is never null: follow it to follow the log.`,
      limit: 'Rows per page: 1 to 1000, default 100.',
    },
    reply:
      '{"items": […], "next": "the path of the next page or null", "names": {"id": "the name of a user or client in the items"}}. A page may have fewer items than limit although there is a next one.',
    async run(call, env) {
      const filter = await readFilter(call, env)
      const limit = readCount(call.query.limit, 'limit', 100, 1000)
      const { before, after, wait } = call.query
      if (after === undefined && wait === undefined) {
        await env.audit.flush()
        const place = before === undefined ? undefined : readCount(before, 'before', 1, MOST_ROWS)
        const { rows, next } = await scanAuditPage(env.database.db, filter, { before: place, limit })
        return page(call, env, rows, next === undefined ? undefined : { before: String(next), limit: String(limit) })
      }
      if (after === undefined || before !== undefined)
        throw new Refusal('admin.bad_parameter', 400, 'wait needs after, and after excludes before')
      const from = after === '0' ? 0 : readCount(after, 'after', 1, MOST_ROWS)
      const read = () => follow(call, env, filter, { after: from, limit })
      const { rows, position, isEnd } = await (wait === undefined ? read() : call.hold(read))
      const goesOn = wait !== undefined || !isEnd
      return page(call, env, rows, goesOn ? { after: String(position), limit: String(limit) } : undefined)
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
      return { lines: exportAuditLog(env.database.db, filter, call.requireAccess) }
    },
  },
  {
    method: 'GET',
    path: '/admin/audit/verify',
    scope: 'Identity/Admin',
    summary: 'Verifies the hash chain of the audit log, step by step.',
    query: {
      head: 'A head recorded earlier, as SEQ:HASH, that must still be in the log.',
      from: 'Where the step before has ended, as SEQ:HASH; as in `next`.',
      limit: `Rows of this step: 1 to ${LARGEST_STEP}, default ${DEFAULT_STEP}.`,
    },
    reply:
      '{"rows": verified in this step, "head": {"seq", "hash"}, "faults": […], "next": "the path of the next step, or null when the log is verified to its head"}',
    async run({ query }, { database, audit }) {
      await audit.flush()
      const limit = readCount(query.limit, 'limit', DEFAULT_STEP, LARGEST_STEP)
      const [recorded, from] = [readPosition(query.head, 'head'), readPosition(query.from, 'from')]
      const { next, ...step } = await verifyAuditStep(database, { recorded, from, limit })
      const search = next && new URLSearchParams({ ...query, from: `${next.seq}:${next.hash}` })
      return { body: { ...step, next: search === undefined ? null : `/admin/audit/verify?${search}` } }
    },
  },
]

async function readFilter({ query }: AdminCall, { stores, database }: AdminEnv): Promise<AuditFilter> {
  const names = Object.keys(AUDIT_EVENTS)
  if (query.event !== undefined && !names.some((name) => isNamed(name, query.event ?? '')))
    throw new Refusal('admin.bad_parameter', 400, `event must be one of ${names.join(', ')}`)
  const { event, outcome, actor, client, target, address } = query
  return {
    event,
    changes: readFlag(query.changes, 'changes'),
    outcome,
    actor: actor === undefined ? undefined : await requireActor(stores, database, actor),
    client,
    targets: target === undefined ? undefined : await findTargets(stores, target),
    address,
    since: readTime(query.since, 'since'),
    until: readTime(query.until, 'until'),
  }
}

/** Rows after a position; with `wait`, as soon as there are any. */
async function follow(
  { query, signal, requireAccess }: AdminCall,
  { database, audit }: AdminEnv,
  filter: AuditFilter,
  { after, limit }: { readonly after: number; readonly limit: number },
) {
  const end =
    performance.now() + (query.wait === undefined ? 0 : readCount(query.wait, 'wait', 1, LONGEST_WAIT_S)) * 1000
  for (let position = after; ; ) {
    await audit.flush()
    const read = await followAuditLog(database.db, filter, { after: position, limit })
    const isEnd = read.position === position || read.position >= (await readHead(database.db))
    position = read.position
    if (read.rows.length > 0 || !isEnd || signal.aborted || performance.now() >= end) return { ...read, isEnd }
    await sleep(POLL_MS, undefined, { signal }).catch(() => {})
    await requireAccess()
  }
}

/** Includes the names of the users and clients in the rows, so that a reader does not have to look up each. */
async function page(
  { query }: AdminCall,
  { database }: AdminEnv,
  rows: readonly AuditRow[],
  next: Readonly<Record<string, string>> | undefined,
): Promise<AdminReply> {
  const subjects = rows.flatMap(({ actor, target }) => [actor, target?.startsWith(USER_ID_PREFIX) ? target : null])
  const names = await subjectNames(database, [...new Set(subjects.filter((subject) => subject !== null))])
  return {
    body: {
      items: rows.map(presentAuditRow),
      next: next === undefined ? null : `/admin/audit?${new URLSearchParams({ ...query, ...next })}`,
      names: Object.fromEntries(names),
    },
  }
}

function readPosition(text: string | undefined, name: string): { seq: number; hash: string } | undefined {
  if (text === undefined) return undefined
  const [, seq = '', hash = ''] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? []
  if (seq === '') throw new Refusal('admin.bad_parameter', 400, `${name} must have the form SEQ:HASH, such as 42:0123…`)
  return { seq: Number(seq), hash }
}
