/** An exported audit log (read.ts): its rows, whose chain of hashes is verified from the first on. */
import { hashRow } from './chain.ts'

/** The row that is missing or was altered, in a sentence. */
export class BadExport extends Error {
  override name = 'BadExport'
}

export interface ExportedRow {
  readonly seq: number
  /** Milliseconds, and as it is written. */
  readonly at: number
  readonly atText: string
  readonly event: string
  readonly actor: string
  readonly client: string
  readonly target: string
  readonly details: Readonly<Record<string, unknown>>
  readonly hash: string
}

/** Its methods throw BadExport. */
export class ExportedChain {
  #first: { readonly row: ExportedRow; readonly canonical: HashedRow } | undefined
  /** Whether the chain begins with the first row of the log, or a row says what was pruned before it. */
  #isProven = false
  #previous: { readonly seq: number; readonly hash: string } | undefined

  read(line: string): ExportedRow {
    const { row, canonical } = parseRow(line)
    const { seq, hash } = row
    const isFirst = this.#first === undefined
    this.#first ??= { row, canonical }
    if (isFirst && seq === 1) this.#isProven = true
    const previous = isFirst && seq === 1 ? { seq: 0, hash: '' } : this.#previous
    if (previous !== undefined && seq !== previous.seq + 1) throw new BadExport(`Row ${previous.seq + 1} is missing`)
    if (previous !== undefined && hashRow(previous.hash, canonical) !== hash)
      throw new BadExport(`Row ${seq} or the row before it was altered`)
    if (row.event === 'audit.pruned') this.#prove(row)
    this.#previous = { seq, hash }
    return row
  }

  #prove({ details: { through, hash } }: ExportedRow): void {
    if (this.#first === undefined || through !== this.#first.row.seq - 1) return
    const { row, canonical } = this.#first
    if (hashRow(String(hash), canonical) !== row.hash) throw new BadExport(`Row ${row.seq} was altered`)
    this.#isProven = true
  }

  /** Rows before the first one were pruned, and none of them is later than `start`. */
  requireBeginning(start: number): void {
    const { seq = 1, at = 0, atText = '' } = this.#first?.row ?? {}
    if (seq > 1 && at > start) throw new BadExport(`The log begins at row ${seq}, ${atText}: too late`)
    if (!this.#isProven)
      throw new BadExport(`Rows up to ${seq - 1} are missing, and no row records that they were pruned`)
  }
}

type HashedRow = Parameters<typeof hashRow>[1]

/** As read.ts presents a row. */
function parseRow(line: string): { readonly row: ExportedRow; readonly canonical: HashedRow } {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    throw new BadExport('A line of the file is no JSON')
  }
  const members = new Map<string, unknown>(typeof value === 'object' && value !== null ? Object.entries(value) : [])
  const text = (name: string) => {
    const given = members.get(name)
    return typeof given === 'string' ? given : null
  }
  const [seq, given, atText] = [members.get('seq'), members.get('details'), text('at')]
  if (typeof seq !== 'number' || typeof given !== 'object' || given === null || atText === null)
    throw new BadExport('A line of the file is no row of an audit log')
  const details = { ...given }
  const [event, actor, client, target] = [text('event') ?? '', text('actor'), text('client'), text('target')]
  const at = Date.parse(atText)
  const canonical = {
    ...{ seq, at, event, outcome: text('outcome') ?? '', actor, client, target },
    ...{ address: text('address'), request_id: text('request_id'), node: text('node') ?? '' },
    details: JSON.stringify(details),
  }
  const row = {
    ...{ seq, at, atText, event, details, hash: text('hash') ?? '' },
    ...{ actor: actor ?? '', client: client ?? '', target: target ?? '' },
  }
  return { row, canonical }
}
