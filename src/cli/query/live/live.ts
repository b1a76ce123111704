/** `gatehouse query --live`: a result that keeps itself up to date, as a table in a terminal or as lines in a pipe. */
import type { Arguments } from '../../args.ts'
import { UsageError } from '../../errors.ts'
import { printable } from '../../table.ts'
import { connectToQuery, type QueryConnection } from '../connection.ts'
import { readParameters, readStatement } from '../input.ts'
import { type LiveOptions, liveEvents, parseMessage } from './messages.ts'
import { LiveResult } from './result.ts'
import { openTerminal } from './terminal.ts'

export async function liveQuery(args: Arguments): Promise<void> {
  if (args.has('--csv')) throw new UsageError('A live result is a table or, with --json, messages; not CSV')
  const maxRate = args.integer('--max-rate', { least: 1, most: 50 })
  const statement = await readStatement(args.positionals[0])
  const parameters = readParameters(args)
  const connection = await connectToQuery(args)
  const search: Record<string, string> = maxRate === undefined ? {} : { maxrate: String(maxRate) }
  if (!args.has('--json') && process.stdout.isTTY) return showLive(connection, statement, { parameters, search })
  await untilSignal(async (end) => {
    // The reader of the pipe has gone.
    process.stdout.once('error', () => end.abort())
    const options = { parameters, signal: end.signal }
    if (args.has('--json'))
      return printMessages(liveEvents(connection, statement, { ...options, search, onConnection: warn }))
    await printChanges((onConnection) =>
      liveEvents(connection, statement, { ...options, search: { ...TABLE, ...search }, onConnection }),
    )
  })
}

/** In a terminal: draws the result until the user ends it. */
export function showLive(
  connection: QueryConnection,
  statement: string,
  { parameters, search = {} }: Pick<LiveOptions, 'parameters' | 'search'>,
): Promise<void> {
  return untilSignal((end) => {
    const options = { ...(parameters === undefined ? {} : { parameters }), search: { ...TABLE, ...search } }
    const open: OpenEvents = (onConnection) =>
      liveEvents(connection, statement, { ...options, signal: end.signal, onConnection })
    return showTable(open, () => end.abort())
  })
}

/** Arrays keep columns of the same name apart, strings keep integers beyond 2^53 exact. */
const TABLE = { rows: 'arrays', integers: 'strings' } as const

async function untilSignal(run: (end: AbortController) => Promise<void>): Promise<void> {
  const end = new AbortController()
  const onSignal = (): void => end.abort()
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.once(signal, onSignal)
  try {
    await run(end)
  } finally {
    for (const signal of signals) process.off(signal, onSignal)
  }
}

type OpenEvents = (onConnection: LiveOptions['onConnection']) => ReturnType<typeof liveEvents>

/** Each message in a line, as the server sends it. */
async function printMessages(events: ReturnType<typeof liveEvents>): Promise<void> {
  for await (const { data } of events) await write(`${process.stdout.isTTY ? printable(data) : data}\n`)
}

/** A header, then a line for each row that is new (+), changed (~) or gone (-); fields are separated by tabs. */
async function printChanges(open: OpenEvents): Promise<void> {
  const result = new LiveResult()
  let header = ''
  const events = open((lost) => {
    result.dropPieces()
    warn(lost)
  })
  for await (const { data } of events) {
    const message = parseMessage(data)
    if (message === undefined) continue
    // The snapshot that follows says what is different.
    if (message.kind === 'reset') {
      process.stderr.write(`gatehouse: the result starts anew (${printable(message.reason)})\n`)
      continue
    }
    const changes = result.apply(message, 0)
    const names = fields(
      ' ',
      result.columns.map(({ name }) => name),
    )
    const lines = changes.map(({ sign, row }) => fields(sign, row.cells))
    if (names !== header) lines.unshift(names)
    header = names
    if (lines.length > 0) await write(lines.join(''))
  }
}

function fields(sign: string, cells: readonly string[]): string {
  return `${[sign, ...cells.map(printable)].join('\t')}\n`
}

async function showTable(open: OpenEvents, end: () => void): Promise<void> {
  const result = new LiveResult()
  const terminal = openTerminal(result, end)
  let changes = 0
  let lost: string | undefined
  const update = (): void => terminal.update(statusOf(result.rows.length, changes, lost))
  const events = open((reason) => {
    result.dropPieces()
    lost = reason
    update()
  })
  try {
    update()
    for await (const { data } of events) {
      const message = parseMessage(data)
      if (message === undefined) continue
      if (message.kind === 'reset') terminal.forgetWidths()
      const changed = result.apply(message, performance.now())
      if (message.kind === 'change') changes += changed.length
      update()
    }
  } finally {
    terminal.close()
  }
  process.stderr.write(`${count(result.rows.length, 'row')}, ${count(changes, 'change')}\n`)
}

function statusOf(rows: number, changes: number, lost: string | undefined): string {
  const connection = lost === undefined ? 'live' : `reconnecting: ${lost}`
  return `${count(rows, 'row')} · ${count(changes, 'change')} · ${connection} · q ends`
}

function count(amount: number, what: string): string {
  return `${amount} ${amount === 1 ? what : `${what}s`}`
}

function warn(lost: string | undefined): void {
  if (lost !== undefined) process.stderr.write(`gatehouse: ${printable(lost)}; reconnecting\n`)
}

/** Waits for a slow reader. */
async function write(text: string): Promise<void> {
  if (process.stdout.write(text)) return
  await new Promise<void>((resolve) => {
    const done = (): void => {
      process.stdout.off('drain', done).off('error', done)
      resolve()
    }
    process.stdout.on('drain', done).on('error', done)
  })
}
