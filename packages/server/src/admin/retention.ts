/** Routes for the retention of tables: what is kept for how long, and a round at once. */
import { Refusal } from 'gatehouse-protocol'
import type { Erasure, RetentionRounds, RetentionSetting } from './ports.ts'
import { badBody, readObject, refuseUnknown } from './request/body.ts'
import { type AdminEnv, type AdminRoute, notFound, part } from './route.ts'

export const retentionRoutes: readonly AdminRoute[] = [
  {
    method: 'GET',
    path: '/admin/retention',
    scope: 'Platform/Admin',
    summary:
      'Lists the tables with a retention, and those that are held. Rows before the horizon are closed, those before the cut are deleted.',
    reply:
      '{"items": [{"table", "time", "on", "hold", "horizon", "cut", "oldest", "next": when the horizon moves, "fault": why nothing moves}]}',
    async run(_call, env) {
      return { body: { items: await (await requireRetention(env)).list() } }
    },
  },
  {
    method: 'GET',
    path: '/admin/retention/{table}',
    scope: 'Platform/Admin',
    summary: 'Shows the retention of a table, or that it is held.',
    reply: 'The table as in the list.',
    async run(call, env) {
      const table = part(call, 'table')
      const body = await (await requireRetention(env)).find(table)
      if (body === undefined) throw notFound('table with a retention or a hold named', table)
      return { body }
    },
  },
  {
    method: 'POST',
    path: '/admin/retention/{table}',
    scope: 'Platform/Admin',
    summary: 'Sets how long the rows of a table are kept, or whether it is held, as ALTER TABLE … SET WITH does.',
    body: {
      type: 'object',
      properties: {
        retention: {
          description: 'Such as {"time": "30 days", "on": "executed_at"}. null: for ever. Absent: as it is.',
          anyOf: [
            {
              type: 'object',
              properties: { time: { type: 'string' }, on: { type: 'string' } },
              required: ['time', 'on'],
              additionalProperties: false,
            },
            { type: 'null' },
          ],
        },
        hold: { type: 'boolean', description: 'Whether no row may be deleted. Absent: as it is.' },
        dry_run: { type: 'boolean', description: 'Change nothing, and say what the retention would delete.' },
      },
      additionalProperties: false,
    },
    reply: 'The table as in the list; with dry_run {"horizon", "cut", "rows", "oldest", "stay", "go"}.',
    async run(call, env) {
      const table = part(call, 'table')
      const { isDryRun, ...setting } = readSetting(call.body)
      const tables = await requireRetention(env)
      const body = await (isDryRun ? tables.explain : tables.set)(call.caller, table, setting)
      if (body === undefined) throw notFound('table named', table)
      return { body }
    },
  },
  {
    method: 'POST',
    path: '/admin/retention/{table}/run',
    scope: 'Platform/Admin',
    summary: 'Closes and deletes the rows of a table that are too old now, and replies when that has ended.',
    reply: '{"Horizon", "Cut", "Rows": how many were deleted}',
    async run(call, env) {
      const table = part(call, 'table')
      const ran = await (await requireRetention(env)).run(table, call.signal)
      if (ran === undefined) throw notFound('table with a retention named', table)
      return { body: ran }
    },
  },
  {
    method: 'POST',
    path: '/admin/retention/{table}/erase',
    scope: 'Platform/Admin',
    summary:
      'Deletes the rows of a person, with the rights of the caller: also rows that are closed, but none of a table that is held. It is in the audit log.',
    body: {
      type: 'object',
      properties: {
        where: { type: 'string', description: 'A condition in IQL, such as customer = :c. The audit log has it.' },
        parameters: {
          type: 'object',
          additionalProperties: { type: 'string' },
          description: 'Their values in text form. The audit log does not have them.',
        },
        reason: { type: 'string', description: 'For the audit log, such as the number of a request.' },
        dry_run: { type: 'boolean', description: 'Change nothing, and count the rows.' },
      },
      required: ['where', 'reason'],
      additionalProperties: false,
    },
    reply: '{"Rows": how many were deleted}',
    async run(call, env) {
      const table = part(call, 'table')
      const erasure = readErasure(call.body)
      const body = await (await requireRetention(env)).erase(call.caller, table, erasure)
      if (body === undefined) throw notFound('table named', table)
      return { body }
    },
  },
]

async function requireRetention({ retention }: AdminEnv): Promise<RetentionRounds> {
  if (retention !== undefined) return retention()
  const text =
    'Only a node that runs the query service knows what tables keep: send the request to one (on the command line: --server URL)'
  throw new Refusal('admin.not_here', 409, text)
}

function readSetting(given: unknown): RetentionSetting & { readonly isDryRun: boolean } {
  const body = readObject(given)
  refuseUnknown(body, ['retention', 'hold', 'dry_run'])
  const { hold, dry_run: isDryRun = false } = body
  if (hold !== undefined && typeof hold !== 'boolean') throw badBody([{ path: 'hold', text: 'must be true or false' }])
  if (typeof isDryRun !== 'boolean') throw badBody([{ path: 'dry_run', text: 'must be true or false' }])
  const retention = readRetention(body.retention)
  if (retention === undefined && (hold === undefined || isDryRun))
    throw badBody([{ path: 'retention', text: 'is required, unless hold is set' }])
  return { retention, hold, isDryRun }
}

function readErasure(given: unknown): Erasure {
  const body = readObject(given)
  refuseUnknown(body, ['where', 'parameters', 'reason', 'dry_run'])
  const { where, parameters = {}, reason, dry_run: isDryRun = false } = body
  if (typeof where !== 'string' || where.trim() === '') throw badBody([{ path: 'where', text: 'must be a condition' }])
  if (typeof reason !== 'string' || reason.trim() === '') throw badBody([{ path: 'reason', text: 'must be a text' }])
  if (typeof isDryRun !== 'boolean') throw badBody([{ path: 'dry_run', text: 'must be true or false' }])
  return { where, parameters: readTexts(parameters), reason, isDryRun }
}

function readTexts(given: unknown): Readonly<Record<string, string>> {
  const entries = Object.entries(readObject(given)).map(([name, value]) => {
    if (typeof value === 'string') return [name, value] as const
    throw badBody([{ path: `parameters.${name}`, text: 'must be a text' }])
  })
  return Object.fromEntries(entries)
}

function readRetention(given: unknown): RetentionSetting['retention'] {
  if (given === undefined || given === null) return given
  const body = readObject(given)
  refuseUnknown(body, ['time', 'on'])
  const { time, on } = body
  if (typeof time === 'string' && typeof on === 'string') return { time, on }
  throw badBody([{ path: 'retention', text: 'has two texts, time and on' }])
}
