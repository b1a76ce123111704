/** Runs an administration command: reads the line, asks where it must, calls, shows. */
import { createInterface } from 'node:readline/promises'
import { Usage } from '../command.ts'
import { readPassword } from '../password.ts'
import { type OptionTable, readSettings } from '../settings.ts'
import { printTable } from '../table.ts'
import { type AdminCommand, COMMON, CONFIRMED, type JsonObject, type Shown } from './command.ts'
import { connect } from './connection.ts'

export async function perform(command: AdminCommand, args: readonly string[]): Promise<void> {
  const all = { ...command.options, ...COMMON, ...CONFIRMED }
  const own: OptionTable = Object.fromEntries(Object.entries(all).map(([name, { kind }]) => [name, kind]))
  const { config, texts, sources, options, rest } = await readSettings(args, own)
  if (rest.length !== command.words.length)
    // What was given is not repeated: somebody may have typed a password there.
    throw new Usage(`${command.name} takes ${command.words.join(' ') || 'no words'}; ${rest.length} were given`)
  if (command.confirm !== undefined && !options.has('--yes')) await confirm(command.confirm(rest))
  const connection = await connect({ config, texts, sources }, command.begins === true)
  try {
    const shown = await command.run({
      words: rest,
      option: (name) => options.get(name)?.[0],
      values: (name) => options.get(name) ?? [],
      has: (name) => options.has(name),
      request: connection.request,
      secret: readPassword,
    })
    await show(shown, options.has('--json'))
  } finally {
    await connection.close()
  }
}

/** Without a terminal nobody can answer: a script says --yes. */
async function confirm(question: string): Promise<void> {
  if (!process.stdin.isTTY) throw new Usage(`${question} Say so with --yes.`)
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await terminal.question(`${question} [y/N] `)
  terminal.close()
  if (!/^y(es)?$/i.test(answer.trim())) throw new Usage('Nothing was changed')
}

async function show(shown: Shown, json: boolean): Promise<void> {
  if (shown.kind === 'lines') {
    for await (const line of shown.lines) {
      process.stdout.write(line)
      if (process.stdout.destroyed) return
    }
    return
  }
  if (shown.kind === 'text' && shown.failed === true) process.exitCode = 1
  if (json) process.stdout.write(`${JSON.stringify(shown.body ?? null, null, 2)}\n`)
  else if (shown.kind === 'text') process.stdout.write(`${shown.text}\n`)
  else if (shown.kind === 'object') showObject(shown.body)
  else showTable(shown.columns, itemsOf(shown.body))
  const silent = silentOf(shown.body)
  if (silent.length > 0) process.stderr.write(`gatehouse: these nodes did not answer: ${silent.join(', ')}\n`)
}

function showTable(columns: readonly string[], items: readonly JsonObject[]): void {
  printTable(
    columns.map((column) => column.toUpperCase().replaceAll('_', ' ')),
    items.map((item) => columns.map((column) => cell(item[column]))),
  )
}

function showObject(body: unknown): void {
  const object = typeof body === 'object' && body !== null ? body : {}
  printTable(
    ['MEMBER', 'VALUE'],
    Object.entries(object).map(([name, value]) => [name, cell(value)]),
  )
}

function itemsOf(body: unknown): readonly JsonObject[] {
  const items = typeof body === 'object' && body !== null && 'items' in body ? body.items : []
  return Array.isArray(items) ? items : []
}

/** A list over all nodes names those that it lacks. */
function silentOf(body: unknown): readonly unknown[] {
  const silent = typeof body === 'object' && body !== null && 'silent' in body ? body.silent : []
  return Array.isArray(silent) ? silent : []
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return '-'
  if (Array.isArray(value)) return value.length === 0 ? '-' : value.map(cell).join(' ')
  if (typeof value === 'object') return JSON.stringify(value)
  return String(value)
}
