/** Runs a recorded statement again on a connection of its own, with the same bytes as parameters and the results as text. */
import { connect, type Socket } from 'node:net'
import type { CorpusResult } from './corpus-file.ts'
import {
  type Column,
  cstring,
  Fields,
  int16,
  int32,
  type Message,
  MessageReader,
  message,
  readDataRow,
  readError,
  readRowDescription,
} from './messages.ts'

export interface BoundValues {
  /** Format codes: none for text, one for all, or one for each value. */
  readonly formats: readonly number[]
  readonly values: readonly (Buffer | null)[]
}

export interface Replayed extends CorpusResult {
  readonly parameterTypes: readonly number[]
}

const NO_VALUES: BoundValues = { formats: [], values: [] }

export class ReplayConnection {
  readonly #socket: Socket
  readonly #reader = new MessageReader({ hasType: true })
  #collected: Message[] = []
  #whole: ((messages: Message[]) => void) | undefined

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (chunk: Buffer) => {
      for (const each of this.#reader.read(chunk)) {
        this.#collected.push(each)
        if (each.type !== 'Z') continue
        const messages = this.#collected
        this.#collected = []
        this.#whole?.(messages)
      }
    })
  }

  static async open(port: number, user: string, database: string): Promise<ReplayConnection> {
    const connection = new ReplayConnection(connect(port, '127.0.0.1'))
    const parameters = ['user', user, 'database', database, ''].map(cstring)
    const body = Buffer.concat([int32(196_608), ...parameters])
    await connection.#send(Buffer.concat([int32(body.length + 4), body]))
    return connection
  }

  async run(text: string, declared: readonly number[], bound: BoundValues = NO_VALUES): Promise<Replayed> {
    const { formats, values } = bound
    const answers = await this.#send(
      Buffer.concat([
        message('P', cstring(''), cstring(text), int16(declared.length), ...declared.map(int32)),
        message('D', Buffer.from('S'), cstring('')),
        message(
          ...(['B', cstring(''), cstring(''), int16(formats.length), ...formats.map(int16)] as const),
          ...[
            int16(values.length),
            ...values.flatMap((value) => [int32(value?.length ?? -1), value ?? Buffer.alloc(0)]),
          ],
          int16(0),
        ),
        message('E', cstring(''), int32(0)),
        message('S'),
      ]),
    )
    return readAnswers(answers)
  }

  /** The types of its parameters and its columns; it does not run. */
  async describe(text: string, declared: readonly number[]): Promise<Replayed> {
    const answers = await this.#send(
      Buffer.concat([
        message('P', cstring(''), cstring(text), int16(declared.length), ...declared.map(int32)),
        message('D', Buffer.from('S'), cstring('')),
        message('S'),
      ]),
    )
    const { rows: _, ...description } = readAnswers(answers)
    return description
  }

  /** The text form of parameters, from the server itself. */
  async readText(types: readonly number[], { formats, values }: BoundValues): Promise<(string | null)[]> {
    const texts: (string | null)[] = []
    for (const [at, value] of values.entries()) {
      const format = formats.length === 1 ? (formats[0] ?? 0) : (formats[at] ?? 0)
      const text = value?.toString('utf8') ?? null
      if (format === 0 || value === null) texts.push(text)
      else {
        const { rows } = await this.run('SELECT $1', [types[at] ?? 25], { formats: [1], values: [value] })
        texts.push(rows?.[0]?.[0] ?? text)
      }
    }
    return texts
  }

  close(): void {
    this.#socket.destroy()
  }

  #send(bytes: Buffer): Promise<Message[]> {
    const answers = new Promise<Message[]>((resolve, reject) => {
      this.#whole = resolve
      this.#socket.once('error', reject)
      this.#socket.once('close', () => reject(new Error('PostgreSQL closed the connection')))
    })
    this.#socket.write(bytes)
    return answers.finally(() => this.#socket.removeAllListeners('close').removeAllListeners('error'))
  }
}

function readAnswers(answers: readonly Message[]): Replayed {
  let parameterTypes: number[] = []
  let columns: Column[] | undefined
  const rows: (string | null)[][] = []
  let tag: string | undefined
  for (const { type, body } of answers) {
    if (type === 't') {
      const fields = new Fields(body)
      parameterTypes = fields.list(() => fields.uint32())
    } else if (type === 'T') columns = readRowDescription(body)
    else if (type === 'D') rows.push(readDataRow(body))
    else if (type === 'C') tag = new Fields(body).text()
    else if (type === 'E') return { parameterTypes, error: readError(body) }
  }
  return {
    parameterTypes,
    ...(columns === undefined ? {} : { columns, rows }),
    ...(tag === undefined ? {} : { tag }),
  }
}
