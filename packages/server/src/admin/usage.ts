/** The usage report: who had a session of which product in a month, from the audit log alone. */
import { createHash } from 'node:crypto'
import { Refusal } from 'gatehouse-protocol'
import { isTimeZone } from '../lib/time-zones.ts'
import type { Month } from '../licences/usage/month.ts'
import type { UsageRow } from '../licences/usage/report.ts'
import { subjectNames } from '../store/accounts/subject-names.ts'
import type { JsonObject } from './request/body.ts'
import { record } from './request/change.ts'
import { readCount } from './request/parameters.ts'
import { type AdminCall, type AdminEnv, type AdminRoute, conflict, part } from './route.ts'

const QUERY = {
  product: 'Only this product.',
  zone: 'The time zone of the month. Default: UTC.',
  head: 'The sequence number of the last row of the audit log that counts. Default: the newest.',
} as const

const MOST_SEQ = 999_999_999
const READ_AT_ONCE = 2_000
/** Names that one statement looks up. */
const NAMES_AT_ONCE = 500

export const usageRoutes: readonly AdminRoute[] = [
  {
    method: 'GET',
    path: '/admin/usage',
    scope: 'Identity/Admin',
    summary:
      'Reports who used which product in a month, a row for each product and user or client, from the audit log.',
    query: { month: 'Such as 2026-11.', ...QUERY, format: 'json, or csv. Default: json.' },
    reply:
      '{"month", "zone", "head": {"seq", "hash", "at"}, "rows": [{"month", "product", "type", "subject", "firm", "status", "kind", "access", "sessions", "peak", "first", "last", "clients", "units"}], "names": {"id": "the name of a user"}}, or text/csv.',
    async run(call, env) {
      const { month = '', format = 'json' } = call.query
      if (format !== 'json' && format !== 'csv')
        throw new Refusal('admin.bad_parameter', 400, 'format must be json or csv')
      const usage = await readUsage(await parseMonth(month, call), call, env)
      if (format === 'json') return { body: { ...usage, names: await readNames(usage.rows, env) } }
      const { writeUsageCsv } = await import('../licences/usage/report.ts')
      return { text: { type: 'text/csv; charset=utf-8', body: writeUsageCsv(usage.rows) } }
    },
  },
  {
    method: 'POST',
    path: '/admin/usage/{month}/close',
    scope: 'Identity/Admin',
    summary: 'Records the SHA-256 of the CSV of a month in the audit log, so that a later report can be compared.',
    query: QUERY,
    reply: '{"month", "zone", "head", "digest"}',
    async run(call, env) {
      const usage = await readUsage(await parseMonth(part(call, 'month'), call), call, env)
      const { writeUsageCsv } = await import('../licences/usage/report.ts')
      const digest = createHash('sha256').update(writeUsageCsv(usage.rows)).digest('hex')
      const { month, zone, head } = usage
      record(env, call, { event: 'usage.closed', target: month, details: { digest, head: head.seq } })
      return { body: { month, zone, head, digest } }
    },
  },
]

async function parseMonth(name: string, { query: { zone = 'UTC' } }: AdminCall): Promise<Month> {
  const { readMonth } = await import('../licences/usage/month.ts')
  if (!isTimeZone(zone)) throw new Refusal('admin.bad_parameter', 400, 'zone must be a time zone such as Europe/Zurich')
  const month = readMonth(name, zone)
  if (month === undefined) throw new Refusal('admin.bad_parameter', 400, 'month must be a month such as 2026-11')
  return month
}

interface Usage {
  readonly month: string
  readonly zone: string
  readonly head: { readonly seq: number; readonly hash: string; readonly at: string }
  readonly rows: readonly UsageRow[]
}

async function readUsage(month: Month, { query }: AdminCall, env: AdminEnv): Promise<Usage> {
  const { UsageReport, USAGE_EVENTS } = await import('../licences/usage/report.ts')
  const { endLapsed } = await import('../licences/licences.ts')
  const clock = (await env.licenceClock?.()) ?? env.clock
  await endLapsed(env, clock())
  await env.audit.flush()
  const log = () => env.database.db.selectFrom('audit_log')
  const newest = await log().select('seq').orderBy('seq', 'desc').limit(1).executeTakeFirst()
  const seq = query.head === undefined ? (newest?.seq ?? 0) : readCount(query.head, 'head', 1, MOST_SEQ)
  const head = await log().select(['seq', 'hash', 'at']).where('seq', '=', seq).executeTakeFirst()
  if (head === undefined) throw new Refusal('admin.bad_parameter', 400, `The audit log has no row ${seq}`)
  const first = await log().select(['seq', 'at']).orderBy('seq').limit(1).executeTakeFirst()
  if (first !== undefined && first.seq > 1 && first.at > month.start)
    throw conflict(`The audit log begins within or after ${month.name}: older rows were pruned`)
  const report = new UsageReport(month, query.product)
  for (let after = 0; ; ) {
    const rows = await log()
      .select(['seq', 'at', 'event', 'actor', 'client', 'target', 'details'])
      .where('event', 'in', USAGE_EVENTS)
      .where('seq', '>', after)
      .where('seq', '<=', seq)
      .orderBy('seq')
      .limit(READ_AT_ONCE)
      .execute()
    for (const { actor, client, target, details, ...row } of rows)
      report.add({
        ...row,
        ...{ actor: actor ?? '', client: client ?? '', target: target ?? '' },
        details: JSON.parse(details),
      })
    const last = rows.at(-1)
    if (last === undefined || rows.length < READ_AT_ONCE) break
    after = last.seq
  }
  return {
    ...{ month: month.name, zone: month.zone },
    head: { seq, hash: head.hash, at: new Date(head.at).toISOString() },
    rows: report.rows(head.at),
  }
}

/** Of users, as far as they exist. */
async function readNames(rows: readonly UsageRow[], { database }: AdminEnv): Promise<JsonObject> {
  const ids = [...new Set(rows.filter(({ type }) => type === 'user').map(({ subject }) => subject))]
  const names: [string, string][] = []
  for (let from = 0; from < ids.length; from += NAMES_AT_ONCE)
    names.push(...(await subjectNames(database, ids.slice(from, from + NAMES_AT_ONCE))))
  return Object.fromEntries(names)
}
