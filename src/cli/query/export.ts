/** `gatehouse export`: a table or the result of a statement into a file, as it streams. */
import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Usage } from '../command.ts'
import { readOptions } from '../options.ts'
import { accepted, CONNECTION_OPTIONS, connect, membersOf, QueryRefused, readPairs } from './connection.ts'
import { statementOf } from './query.ts'

const FORMATS: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  ndjson: 'application/x-ndjson',
  arrow: 'application/vnd.apache.arrow.stream',
}

export async function exportRows(args: readonly string[]): Promise<void> {
  const { values, positionals } = parse(args)
  const { table, output } = values
  if (table !== undefined && positionals.length > 0) throw new Usage('Give a statement or --table, not both')
  const statement =
    table === undefined ? await statementOf(positionals) : `SELECT * FROM "${table.replaceAll('"', '""')}"`
  const format = formatOf(values.format, output)
  const parameters = readPairs(values.parameter ?? [], '--parameter')
  const connection = await connect(values)
  const accept = FORMATS[format] ?? ''
  const response = await accepted(await connection.statement(statement, { parameters, accept }), statement)
  const bytes = await (output === undefined ? toStdout(response, format) : toFile(response, format, output))
  if (output !== undefined) process.stderr.write(`${output}: ${bytes} bytes of ${format}\n`)
}

const parse = (args: readonly string[]) =>
  readOptions(args, {
    ...CONNECTION_OPTIONS,
    table: { type: 'string' },
    format: { type: 'string' },
    output: { type: 'string' },
    parameter: { type: 'string', short: 'p', multiple: true },
  })

function formatOf(asked: string | undefined, output = ''): string {
  const ending = /\.(\w+)$/.exec(output)?.[1] ?? ''
  const format = asked ?? (ending in FORMATS ? ending : 'csv')
  if (format in FORMATS) return format
  throw new Usage(`--format is one of ${Object.keys(FORMATS).join(', ')}, not "${format}"`)
}

async function toStdout(response: Response, format: string): Promise<number> {
  if (format === 'arrow' && process.stdout.isTTY) throw new Usage('Arrow is not for reading: add --output FILE')
  const watch = new Watch(format)
  await whole(pipeline(bodyOf(response), watch, process.stdout, { end: false }))
  return watch.bytes
}

/** Under another name until it is whole: a file of the right name is never a part. */
async function toFile(response: Response, format: string, output: string): Promise<number> {
  const watch = new Watch(format)
  const partial = `${output}.${process.pid}.part`
  try {
    await whole(pipeline(bodyOf(response), watch, createWriteStream(partial)))
    await rename(partial, output)
  } catch (error) {
    await rm(partial, { force: true })
    throw error
  }
  return watch.bytes
}

function bodyOf(response: Response): Readable {
  return response.body === null ? Readable.from([]) : Readable.fromWeb(response.body)
}

/** The service cuts the connection where a format has no place for an error. */
async function whole(copied: Promise<void>): Promise<void> {
  try {
    await copied
  } catch (error) {
    if (error instanceof QueryRefused || (error instanceof Error && 'code' in error && error.code === 'EPIPE'))
      throw error
    if (error instanceof TypeError)
      throw new QueryRefused(0, { Code: 'Cut', detail: 'The service broke off the result before its end' })
    throw error
  }
}

/** Counts what passes, and finds the error that can end an NDJSON result. */
class Watch extends Transform {
  bytes = 0
  readonly #isNdjson: boolean
  #lastLine: Buffer = Buffer.alloc(0)

  constructor(format: string) {
    super()
    this.#isNdjson = format === 'ndjson'
  }

  override _transform(
    chunk: Buffer,
    _encoding: BufferEncoding,
    done: (error: Error | null, data?: Buffer) => void,
  ): void {
    this.bytes += chunk.length
    if (this.#isNdjson) this.#remember(chunk)
    done(null, chunk)
  }

  #remember(chunk: Buffer): void {
    const all = Buffer.concat([this.#lastLine, chunk])
    const start = all.lastIndexOf(10, all.length - 2) + 1
    this.#lastLine = all.subarray(start)
  }

  override _flush(done: (error?: Error | null) => void): void {
    const { Error: problem } = this.#isNdjson ? membersOf(parsed(this.#lastLine.toString())) : {}
    const members = membersOf(problem)
    const isProblem = typeof members.type === 'string' && members.type.startsWith('urn:gatehouse:error:')
    done(isProblem ? new QueryRefused(Number(members.status), members) : null)
  }
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
