/** `gatehouse usage`: the report of a month, of a server or from an exported audit log. */
import { open } from 'node:fs/promises'
import { isTimeZone } from '../lib/time-zones.ts'
import { usageFromExport } from '../licences/usage/exported.ts'
import { readMonth } from '../licences/usage/month.ts'
import { type UsageRow, writeUsageCsv } from '../licences/usage/report.ts'
import type { Arguments } from './args.ts'
import { CommandError, UsageError } from './errors.ts'
import { asObject } from './output/json.ts'

export async function usage(args: Arguments): Promise<void> {
  const file = args.value('--from')
  if (file === undefined) return askServer(args)
  const { name, zone, product, head } = readOptions(args)
  if (!isTimeZone(zone)) throw new UsageError(`--zone ${zone} is no time zone`)
  const month = readMonth(name, zone)
  if (month === undefined) throw new UsageError('--month must be a month such as 2026-11')
  try {
    const found = await usageFromExport((await open(file)).readLines(), month, { product, head })
    print({ month: name, zone, ...found }, found.rows, args)
  } catch (error) {
    throw new CommandError(`${file}: ${error instanceof Error ? error.message : error}`)
  }
}

function readOptions(args: Arguments) {
  return {
    name: args.value('--month') ?? '',
    zone: args.value('--zone') ?? 'UTC',
    product: args.value('--product'),
    head: args.integer('--head'),
  }
}

async function askServer(args: Arguments): Promise<void> {
  const { runAdminCommand } = await import('./admin/run.ts')
  const { name, zone, product, head } = readOptions(args)
  const query = new URLSearchParams({ month: name, zone })
  if (product !== undefined) query.set('product', product)
  if (head !== undefined) query.set('head', String(head))
  await runAdminCommand(
    {
      name: 'usage',
      summary: '',
      examples: [],
      async run({ request }) {
        const { body } = await request('GET', `/admin/usage?${query}`)
        const { rows } = asObject(body)
        // As it came from the server.
        const csv = writeUsageCsv(Array.isArray(rows) ? rows : [])
        return { kind: 'text', text: csv.trimEnd(), body }
      },
    },
    args,
  )
}

function print(report: object, rows: readonly UsageRow[], args: Arguments): void {
  process.stdout.write(args.has('--json') ? `${JSON.stringify(report, null, 2)}\n` : writeUsageCsv(rows))
}
