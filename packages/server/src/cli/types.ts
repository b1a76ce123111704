/** `gatehouse types`: writes TypeScript interfaces of the tables that the caller may read, for use with the client library. */
import { Collection } from '../../../client/src/index.ts'
import type { Arguments } from './args.ts'
import { UsageError } from './errors.ts'
import { type Gate, withGate } from './gate.ts'
import { printable } from './output/table.ts'

export async function types(args: Arguments): Promise<void> {
  const forms = readForms(args)
  const tables = await withGate(args, readTables)
  process.stdout.write(writeTypes(tables, forms))
}

export interface DescribedTable {
  readonly name: string
  readonly description: string | null
  readonly columns: readonly DescribedColumn[]
}

interface DescribedColumn {
  readonly name: string
  readonly type: string
  readonly nullable: boolean
}

/** How the program reads values: the option `values` of the client. */
interface Forms {
  readonly integer: string
  readonly timestamp: string
}

const INTEGERS: ReadonlyMap<string, string> = new Map([
  ['number', 'number'],
  ['bigint', 'bigint'],
  ['text', 'string'],
])
const TIMESTAMPS: ReadonlyMap<string, string> = new Map([
  ['text', 'string'],
  ['date', 'Date'],
])

function readForms(args: Arguments): Forms {
  return {
    integer: chooseType(args, '--integer', 'number', INTEGERS),
    timestamp: chooseType(args, '--timestamp', 'text', TIMESTAMPS),
  }
}

function chooseType(args: Arguments, option: `--${string}`, usual: string, types: ReadonlyMap<string, string>): string {
  const type = types.get(args.value(option) ?? usual)
  if (type === undefined) throw new UsageError(`${option} must be one of ${[...types.keys()].join(', ')}`)
  return type
}

/** Excludes tables that the user may define but not read, which the catalogue lists too. */
async function readTables(gate: Gate): Promise<DescribedTable[]> {
  const listed = new Collection<ListedTable>(gate, '/catalogue/tables').list({ system: false })
  const tables = (await Array.fromAsync(listed)).filter(({ rights }) => rights.includes('select'))
  const columns = await gate.query<DescribedColumn & { tablename: string }>`
    select tablename, name, type, nullable from cataloguecolumns order by tablename, ordinal`
  const byTable = Map.groupBy(columns, ({ tablename }) => tablename)
  return tables.map(({ name, description }) => ({ name, description, columns: byTable.get(name) ?? [] }))
}

type ListedTable = Omit<DescribedTable, 'columns'> & { readonly rights: readonly string[] }

/** The program: an interface for each table, and `Tables` with all of them by name. */
export function writeTypes(tables: readonly DescribedTable[], forms: Forms): string {
  const names = interfaceNames(tables)
  const members = tables.map(({ name }, index) => `  ${property(name)}: ${names[index]}\n`)
  const interfaces = tables.map(
    ({ description, columns }, index) =>
      `${comment(description)}export interface ${names[index]} {\n${columns.map((column) => writeColumn(column, forms)).join('')}}\n`,
  )
  return [
    '// Written by "gatehouse types": the tables that you may read.\n',
    `export interface Tables {\n${members.join('')}}\n`,
    ...interfaces,
  ].join('\n')
}

function writeColumn({ name, type, nullable }: DescribedColumn, forms: Forms): string {
  return `  /** ${type} */\n  ${property(name)}: ${typeScriptType(type, forms)}${nullable ? ' | null' : ''}\n`
}

function typeScriptType(type: string, { integer, timestamp }: Forms): string {
  switch (type.split('(', 1)[0]) {
    case 'Integer':
      return integer
    case 'Timestamp':
      return timestamp
    case 'Double':
      return 'number'
    case 'Boolean':
      return 'boolean'
    case 'Binary':
      return 'Uint8Array'
    case 'Json':
      return 'unknown'
    default:
      return 'string'
  }
}

/** `last_prices` becomes `LastPrices`; a name that is taken gets a number. */
function interfaceNames(tables: readonly DescribedTable[]): string[] {
  const taken = new Set(['Tables'])
  return tables.map(({ name }) => {
    const words = name.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== '')
    const pascal = words.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join('')
    const base = /^\p{L}/u.test(pascal) ? pascal : `Table${pascal}`
    let unique = base
    for (let count = 2; taken.has(unique); count++) unique = `${base}${count}`
    taken.add(unique)
    return unique
  })
}

function property(name: string): string {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? name : JSON.stringify(name)
}

function comment(description: string | null): string {
  if (description === null || description === '') return ''
  return `/** ${printable(description).replaceAll('*/', '*\\/')} */\n`
}
