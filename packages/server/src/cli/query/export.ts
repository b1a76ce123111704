/** `gatehouse export`: streams a table or the result of a statement to a file or stdout. */
import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { problemError, statement as toStatement } from '../../../../client/src/index.ts'
import type { Arguments } from '../args.ts'
import { CommandError, UsageError } from '../errors.ts'
import { withGate } from '../gate.ts'
import { asObject, parseJson } from '../output/json.ts'
import { PrintableText } from '../output/printable-text.ts'
import { readParameters, readStatement } from './input.ts'
import { noteLicenceHeader } from './licence-notes.ts'
import { parameterSearch, whole } from './result.ts'

const MEDIA_TYPES = {
  csv: 'text/csv',
  ndjson: 'application/x-ndjson',
  arrow: 'application/vnd.apache.arrow.stream',
  parquet: 'application/vnd.apache.parquet',
} as const
type Format = keyof typeof MEDIA_TYPES
const FORMATS = ['csv', 'ndjson', 'arrow', 'parquet'] as const

export async function exportRows(args: Arguments): Promise<void> {
  const [argument] = args.positionals
  const [table, output] = [args.value('--table'), args.value('--output')]
  if (table !== undefined && argument !== undefined) throw new UsageError('Give a statement or --table, not both')
  const statement = table === undefined ? await readStatement(args) : `SELECT * FROM "${table.replaceAll('"', '""')}"`
  const format = args.choice('--format', FORMATS) ?? formatOfFile(output)
  const search = parameterSearch(readParameters(args))
  const bytes = await withGate(args, async (gate) => {
    const response = await gate.query(toStatement(statement)).response(MEDIA_TYPES[format], { search })
    noteLicenceHeader(response)
    return output === undefined ? toStdout(response, format) : toFile(response, format, output)
  })
  if (output !== undefined) process.stderr.write(`${output}: ${bytes} bytes of ${format}\n`)
}

function formatOfFile(file = ''): Format {
  return FORMATS.find((format) => file.endsWith(`.${format}`)) ?? 'csv'
}

async function toStdout(response: Response, format: Format): Promise<number> {
  if ((format === 'arrow' || format === 'parquet') && process.stdout.isTTY)
    throw new UsageError(`${format} is a binary format: add --output FILE`)
  const monitor = new ResultMonitor(format)
  const body = bodyStream(response)
  await whole(
    process.stdout.isTTY
      ? pipeline(body, monitor, new PrintableText(), process.stdout, { end: false })
      : pipeline(body, monitor, process.stdout, { end: false }),
    CUT,
  )
  return monitor.bytes
}

/** Written under a temporary name, so that the file is complete once it exists. */
async function toFile(response: Response, format: Format, output: string): Promise<number> {
  const monitor = new ResultMonitor(format)
  const partial = `${output}.${process.pid}.part`
  try {
    await whole(pipeline(bodyStream(response), monitor, createWriteStream(partial)), CUT)
    await rename(partial, output)
  } catch (error) {
    await rm(partial, { force: true })
    throw error
  }
  return monitor.bytes
}

function bodyStream(response: Response): Readable {
  return response.body === null ? Readable.from([]) : Readable.fromWeb(response.body)
}

const CUT = new CommandError(
  'Cut: The server ended the result before it was complete\nhint: the server log has the reason, and --format ndjson shows it; the limits are the settings query_export_seconds and query_result_bytes',
)

/** Counts bytes, and detects an error at the end of an NDJSON result. */
class ResultMonitor extends Transform {
  bytes = 0
  readonly #isNdjson: boolean
  #lastLine: Buffer = Buffer.alloc(0)

  constructor(format: Format) {
    super()
    this.#isNdjson = format === 'ndjson'
  }

  override _transform(
    chunk: Buffer,
    _encoding: BufferEncoding,
    done: (error: Error | null, data?: Buffer) => void,
  ): void {
    this.bytes += chunk.length
    if (this.#isNdjson) this.#keepLastLine(chunk)
    done(null, chunk)
  }

  #keepLastLine(chunk: Buffer): void {
    const all = Buffer.concat([this.#lastLine, chunk])
    const start = all.lastIndexOf(10, all.length - 2) + 1
    this.#lastLine = all.subarray(start)
  }

  override _flush(done: (error?: Error | null) => void): void {
    const { Error: problem } = this.#isNdjson ? asObject(parseJson(this.#lastLine.toString())) : {}
    const members = asObject(problem)
    const isProblem = typeof members.type === 'string' && members.type.startsWith('urn:gatehouse:error:')
    done(isProblem ? problemError(members) : null)
  }
}
