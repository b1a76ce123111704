/** `gatehouse query --live`: a result that keeps itself up to date, as a table in a terminal or as lines in a pipe. */
import {
  createLive,
  type Live,
  LiveEvents,
  liveMessages,
  statement as toStatement,
} from '../../../../../client/src/index.ts'
import type { Arguments } from '../../args.ts'
import { UsageError } from '../../errors.ts'
import { type Gate, withGate } from '../../gate.ts'
import { printable } from '../../output/table.ts'
import { readParameters, readStatement } from '../input.ts'
import { licenceNotes } from '../licence-notes.ts'
import { parameterSearch } from '../result.ts'
import { LiveRows } from './rows.ts'
import { LiveTerminal } from './terminal.ts'

export interface LiveQuery {
  readonly statement: string
  readonly parameters: ReadonlyMap<string, string>
  readonly maxRate?: number | undefined
}

export async function liveQuery(args: Arguments): Promise<void> {
  if (args.has('--csv')) throw new UsageError('A live result is a table or, with --json, messages; not CSV')
  const maxRate = args.integer('--max-rate', { least: 1, most: 50 })
  const statement = await readStatement(args)
  const query = { statement, parameters: readParameters(args), maxRate }
  await withGate(args, (gate) => {
    if (!args.has('--json') && process.stdout.isTTY) return showLive(gate, query)
    return untilSignal((end) => {
      // The reader of the pipe has closed it.
      process.stdout.once('error', () => end.abort())
      return args.has('--json') ? printMessages(gate, query, end.signal) : printChanges(gate, query, end.signal)
    })
  })
}

/** In a terminal: draws the result until the user ends it. */
export function showLive(gate: Gate, query: LiveQuery): Promise<void> {
  return untilSignal((end) => showTable(gate, query, end))
}

/** Work that is aborted at the end has not failed. */
async function untilSignal(run: (end: AbortController) => Promise<void>): Promise<void> {
  const end = new AbortController()
  const onSignal = (): void => end.abort()
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.once(signal, onSignal)
  try {
    await run(end)
  } catch (error) {
    if (!end.signal.aborted) throw error
  } finally {
    for (const signal of signals) process.off(signal, onSignal)
  }
}

/** Each message in a line, as the server sends it. */
async function printMessages(
  gate: Gate,
  { statement, parameters, maxRate }: LiveQuery,
  signal: AbortSignal,
): Promise<void> {
  let isOpen = false
  const messages = liveMessages(
    gate,
    { Statement: statement, MaxRate: maxRate },
    {
      search: parameterSearch(parameters),
      signal,
      onOpen: () => {
        isOpen = true
      },
      onLost(error) {
        if (!isOpen && error.retryAfter === undefined) throw error
        warn(error.message)
      },
    },
  )
  for await (const text of messages) await write(`${process.stdout.isTTY ? printable(text) : text}\n`)
}

/** By server-sent events, which pass every proxy. A first connection that fails is tried again only if the server asks for it. */
function follow(
  gate: Gate,
  { statement, parameters, maxRate }: LiveQuery,
  signal: AbortSignal,
  onLost: (reason: string) => void,
): Live {
  const events = new LiveEvents(gate, {
    search: parameterSearch(parameters),
    onLost(error) {
      if (live.columns.length === 0 && error.retryAfter === undefined) throw error
      onLost(error.message)
    },
  })
  const live: Live = createLive(events, gate.values)(toStatement(statement), { maxRate, signal })
  return live
}

/** A header, then a line for each row that is new (+), changed (~) or gone (-); fields are separated by tabs. */
async function printChanges(gate: Gate, query: LiveQuery, signal: AbortSignal): Promise<void> {
  const live = follow(gate, query, signal, warn)
  const rows = new LiveRows(live, query.statement)
  let header = ''
  for await (const change of live) {
    if (change.reason !== undefined)
      process.stderr.write(`gatehouse: the result starts over (${printable(change.reason)})\n`)
    if (change.snapshot) for (const note of licenceNotes(live.licences)) process.stderr.write(`gatehouse: ${note}\n`)
    const changes = rows.apply(change, 0)
    const names = fields(
      ' ',
      rows.columns.map(({ name }) => name),
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

async function showTable(gate: Gate, query: LiveQuery, end: AbortController): Promise<void> {
  let changes = 0
  let lost: string | undefined
  const live = follow(gate, query, end.signal, (reason) => {
    lost = reason
    update()
  })
  const rows = new LiveRows(live, query.statement)
  const terminal = new LiveTerminal(rows, () => end.abort())
  const update = (): void => terminal.update(statusLine(live, changes, lost))
  try {
    update()
    for await (const change of live) {
      lost = undefined
      if (change.reason !== undefined) terminal.forgetWidths()
      const changed = rows.apply(change, performance.now())
      if (!change.snapshot) changes += changed.length
      update()
    }
  } catch (error) {
    if (!end.signal.aborted) throw error
  } finally {
    terminal.close()
  }
  process.stderr.write(`${count(live.rows.length, 'row')}, ${count(changes, 'change')}\n`)
}

function statusLine({ rows, licences, asOf }: Live, changes: number, lost: string | undefined): string {
  const connection = lost === undefined ? 'live' : `reconnecting: ${lost}`
  const notes = licenceNotes(licences.map((label) => ({ ...label, ...(asOf !== undefined && label.asOf && { asOf }) })))
  return [count(rows.length, 'row'), count(changes, 'change'), connection, ...notes, 'q ends'].join(' · ')
}

function count(amount: number, what: string): string {
  return `${amount} ${amount === 1 ? what : `${what}s`}`
}

function warn(lost: string): void {
  process.stderr.write(`gatehouse: ${printable(lost)}; reconnecting\n`)
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
