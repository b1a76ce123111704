/** Runs an administration command on the data of this machine or on a running server, and prints the result. */
import type { LoadedConfig } from '../../config/load.ts'
import type { Arguments } from '../args.ts'
import { askFirst } from '../ask.ts'
import { UsageError } from '../errors.ts'
import { asObject } from '../output/json.ts'
import { printable, printableLines, printTable } from '../output/table.ts'
import { loadSettings } from '../settings.ts'
import { readNewPassword } from '../sign-in/password.ts'
import type { AdminCommand, AdminRequest, Output } from './admin-command.ts'

export async function runAdminCommand(command: AdminCommand, args: Arguments): Promise<void> {
  const loaded = await loadSettings(args)
  const isDryRun = Object.hasOwn(command.options ?? {}, '--dry-run') && args.has('--dry-run')
  if (command.confirm !== undefined && !isDryRun && !args.has('--yes'))
    await askFirst(command.confirm(args.positionals))
  const { request, close } = await connect(loaded, args)
  try {
    const output = await command.run({ args, request, readPassword: readNewPassword })
    await print(output, args.has('--json'))
  } finally {
    await close()
  }
}

/** These flags name the data of this machine. */
const DATA_FLAGS = ['--data', '--database-url']

/** A flag that names the data here overrides a server in the environment. Each way is imported only when it is used. */
async function connect(
  loaded: LoadedConfig,
  { settings: flags }: Arguments,
): Promise<{ request: AdminRequest; close(): Promise<void> }> {
  const { server } = loaded.config
  const here = DATA_FLAGS.find((flag) => Object.hasOwn(flags, flag))
  if (here !== undefined && '--server' in flags)
    throw new UsageError(`Give --server or ${here}: a command goes to a server, or to the data of this machine`)
  if (server === '' || here !== undefined) return (await import('./local.ts')).connectLocally(loaded)
  return (await import('./remote.ts')).connectRemotely(server)
}

async function print(output: Output, json: boolean): Promise<void> {
  if (output.kind === 'lines') {
    for await (const line of output.lines) {
      process.stdout.write(process.stdout.isTTY ? printableLines(line) : line)
      if (process.stdout.destroyed) return
    }
    return
  }
  if (output.kind === 'text' && output.failed === true) process.exitCode = 1
  // JSON does not escape C1 controls and text directions.
  if (json) process.stdout.write(`${printableLines(JSON.stringify(output.body ?? null, null, 2))}\n`)
  else if (output.kind === 'text') process.stdout.write(`${printableLines(output.text)}\n`)
  else if (output.kind === 'object') printObject(output.body)
  else printItems(output.columns, output.body)
  if (output.kind === 'object')
    for (const line of output.removed ?? []) process.stderr.write(`gatehouse: removed from ${printable(line)}\n`)
  const { silent, next, items, total } = asObject(output.body)
  // With --json it is in the output.
  const after = typeof next === 'string' && !json ? new URLSearchParams(next.split('?')[1]).get('after') : null
  if (after !== null) process.stderr.write(`gatehouse: there may be more: add --after ${printable(after)}\n`)
  if (typeof total === 'number' && Array.isArray(items) && items.length < total && !json)
    process.stderr.write(`gatehouse: these are the newest ${items.length} of ${total}\n`)
  if (Array.isArray(silent) && silent.length > 0)
    process.stderr.write(`gatehouse: these nodes did not answer: ${printable(silent.join(', '))}\n`)
}

function printItems(columns: readonly string[], body: unknown): void {
  const { items } = asObject(body)
  printTable(
    columns.map((column) => column.toUpperCase().replaceAll('_', ' ')),
    (Array.isArray(items) ? items : []).map((item) => columns.map((column) => cell(asObject(item)[column], true))),
  )
}

function printObject(body: unknown): void {
  printTable(
    ['MEMBER', 'VALUE'],
    Object.entries(asObject(body)).map(([name, value]) => [name, cell(value)]),
  )
}

/** What a list shows of an object that has one of them. */
const NAMES = ['name', 'id', 'kid']

/** Plain words: scripts read --json. */
function cell(value: unknown, isInList = false): string {
  if (value === null || value === undefined) return '-'
  if (Array.isArray(value)) {
    const isOfObjects = value.some((item) => typeof item === 'object') && !isInList
    return value.length === 0 ? '-' : value.map((item) => cell(item, isInList)).join(isOfObjects ? '; ' : ' ')
  }
  if (typeof value !== 'object') return String(value)
  const entries = Object.entries(value)
  const name = entries.find(([member]) => isInList && NAMES.includes(member))
  if (name !== undefined) return String(name[1])
  return entries.map(([member, part]) => `${member.replaceAll('_', ' ')} ${cell(part, isInList)}`).join(', ') || '-'
}
