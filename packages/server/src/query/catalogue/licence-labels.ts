/** What results say of licences: which rows are as they were, and which are left out. */
import type { TableView } from 'gatehouse-iql'
import { type AccessPart, type Copies, type CopyTimes, findAccess, type TableAccess } from './licences.ts'

/** One product of one table, as in `Licence` of a result. */
export interface LicenceLabel {
  readonly Product: string
  readonly Table: string
  readonly Access: 'delayed' | 'none'
  /** In seconds. */
  readonly Delay?: number
  readonly AsOf?: string
  readonly Column?: string
  /** Those of the column; `others`: those that no product names. */
  readonly Values?: readonly (string | number)[] | 'others'
}

const NONE: readonly LicenceLabel[] = []

/** Of the tables that a statement reads; none where the caller has all rows of now. */
export function describeLicences(tables: Iterable<TableView>, copies: Copies): readonly LicenceLabel[] {
  let labels: LicenceLabel[] | undefined
  const seen = new Set<TableAccess>()
  for (const table of tables) {
    const access = findAccess(table)
    if (access === undefined || seen.has(access)) continue
    seen.add(access)
    for (const part of access.parts) {
      if (part.access === 'realtime') continue
      labels ??= []
      labels.push(...describePart(table.name, access, part, copies))
    }
  }
  return labels ?? NONE
}

/**
 * What a result says. A read may wait long for its turn, while copies move: the times are those of the copies when its rows began to be
 * read. Rows can be younger by what this node does not know yet of the copies, at which it looks four times a second, and are never older.
 */
export class ResultLabels {
  readonly #tables: readonly TableView[]
  readonly #copies: Copies
  #labels: readonly LicenceLabel[]

  constructor(tables: readonly TableView[], copies: Copies) {
    this.#tables = tables
    this.#copies = copies
    this.#labels = describeLicences(tables, copies)
  }

  get all(): readonly LicenceLabel[] {
    return this.#labels
  }

  /** The rows begin to be read now. */
  renew(): void {
    this.#labels = describeLicences(this.#tables, this.#copies)
  }
}

function describePart(table: string, { column }: TableAccess, part: AccessPart, copies: Copies): LicenceLabel[] {
  const { rows, access, delay, product, products } = part
  const which = rows.kind === 'all' || column === undefined ? {} : { Column: column, Values: readValues(rows) }
  if (access === 'delayed') {
    const at = copies.times(table, delay)
    const asOf = at === undefined ? {} : { AsOf: new Date(Number(at / 1000n)).toISOString() }
    return [{ Product: product ?? '', Table: table, Access: 'delayed', Delay: delay / 1000, ...asOf, ...which }]
  }
  return products.map((name) => ({ Product: name, Table: table, Access: 'none', ...which }))
}

function readValues({
  kind,
  values,
}: Exclude<AccessPart['rows'], { kind: 'all' }>): NonNullable<LicenceLabel['Values']> {
  return kind === 'not-in' ? 'others' : values
}

/** Those of the delayed rows of the tables. */
export function listTimes(tables: Iterable<TableView>, times: CopyTimes): bigint[] {
  return [...tables].flatMap((table) =>
    (findAccess(table)?.parts ?? []).flatMap(({ access, delay }) =>
      access === 'delayed' ? (times(table.name, delay) ?? []) : [],
    ),
  )
}

/** The header `Licence` (RFC 9651): a list of products with parameters. */
export function writeLicenceHeader(labels: readonly LicenceLabel[]): string {
  return labels
    .map(({ Product, Table, Access, Delay, AsOf }) => {
      const parameters = [`table=${writeString(Table)}`]
      if (Access === 'none') parameters.push('access=none')
      if (Delay !== undefined) parameters.push(`delay=${Delay}`)
      if (AsOf !== undefined) parameters.push(`as-of=@${Math.floor(Date.parse(AsOf) / 1000)}`)
      return [writeString(Product), ...parameters].join(';')
    })
    .join(', ')
}

/** A String, or a Display String (RFC 9651 §3.3.8) where it has other characters. */
function writeString(text: string): string {
  if (/^[\x20-\x7e]*$/.test(text)) return `"${text.replaceAll(/["\\]/g, '\\$&')}"`
  const bytes = Array.from(Buffer.from(text), (byte) =>
    byte < 0x20 || byte > 0x7e || byte === 0x25 || byte === 0x22
      ? `%${byte.toString(16).padStart(2, '0')}`
      : String.fromCharCode(byte),
  )
  return `%"${bytes.join('')}"`
}

/** For people, such as in a NOTICE and in EXPLAIN. */
export function writeLicences(labels: readonly LicenceLabel[]): string[] {
  return labels.map(({ Product, Table, Access, Delay, AsOf, Column, Values }) => {
    const where =
      Column === undefined ? Table : `${Table} where ${Column} is ${Values === 'others' ? 'another' : listed(Values)}`
    if (Access === 'none') return `${Product} is not licensed: ${where} is left out`
    return `${Product} is delayed by ${Delay} s${AsOf === undefined ? '' : `, as of ${AsOf}`}: ${where}`
  })
}

const LISTED = 5

function listed(values: readonly (string | number)[] = []): string {
  const some = values.slice(0, LISTED).join(', ')
  return values.length > LISTED ? `${some}, …` : some
}
