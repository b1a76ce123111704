/** Statements over PostgreSQL's protocol with messages by hand: what is sent, and what each reply says. */
import { errorFields, message, type Reply, signInTo, type WireClient } from './wire-client.ts'

export interface Answer {
  /** The letters of the replies, in order. */
  readonly letters: string
  readonly columns: readonly { readonly name: string; readonly type: number; readonly modifier: number }[]
  readonly rows: readonly (readonly (Buffer | null)[])[]
  readonly tags: readonly string[]
  readonly errors: readonly Record<string, string>[]
  readonly parameters: readonly number[]
  /** Of ReadyForQuery. */
  readonly status: string
  /** The payloads of CopyData, joined. */
  readonly copied: Buffer
}

export class WireSession {
  readonly client: WireClient

  constructor(client: WireClient) {
    this.client = client
  }

  static async open(port: number, user: string, secret: string, parameters = {}): Promise<WireSession> {
    const { client, replies } = await signInTo(port, user, secret, parameters)
    if (replies.at(-1)?.type !== 'Z') throw new Error(`No sign-in: ${replies.map(({ body }) => body.toString())}`)
    return new WireSession(client)
  }

  query(text: string): Promise<Answer> {
    return this.send(message('Q', `${text}\0`))
  }

  async send(...messages: readonly Buffer[]): Promise<Answer> {
    this.client.send(...messages)
    return readAnswer(await this.client.repliesTo('Z'))
  }

  /** Parse, Bind, Describe, Execute, Sync. */
  run(text: string, values: readonly Value[] = [], options: RunOptions = {}): Promise<Answer> {
    const { types = [], result = 0, maxRows = 0 } = options
    return this.send(
      parse('', text, types),
      bind('', '', values, [result]),
      describe('P', ''),
      execute('', maxRows),
      SYNC,
    )
  }

  close(): void {
    this.client.close()
  }
}

/** Texts are sent as text, bytes as binary. */
export type Value = string | Uint8Array | null

interface RunOptions {
  readonly types?: readonly number[]
  /** 1: binary. */
  readonly result?: 0 | 1
  readonly maxRows?: number
}

export const SYNC = message('S')

export function parse(name: string, text: string, types: readonly number[] = []): Buffer {
  return message('P', Buffer.concat([Buffer.from(`${name}\0${text}\0`), int16(types.length), ...types.map(int32)]))
}

export function bind(
  portal: string,
  statement: string,
  values: readonly Value[],
  results: readonly number[] = [],
): Buffer {
  const formats = values.map((value) => int16(value instanceof Uint8Array ? 1 : 0))
  const parts = values.map((value) => {
    if (value === null) return int32(-1)
    const bytes = Buffer.from(value)
    return Buffer.concat([int32(bytes.length), bytes])
  })
  const head = Buffer.from(`${portal}\0${statement}\0`)
  return message(
    'B',
    Buffer.concat([
      head,
      int16(formats.length),
      ...formats,
      int16(values.length),
      ...parts,
      int16(results.length),
      ...results.map(int16),
    ]),
  )
}

export function describe(of: 'S' | 'P', name: string): Buffer {
  return message('D', `${of}${name}\0`)
}

export function execute(portal: string, maxRows = 0): Buffer {
  return message('E', Buffer.concat([Buffer.from(`${portal}\0`), int32(maxRows)]))
}

export function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeInt16BE(value)
  return bytes
}

export function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

export function readAnswer(replies: readonly Reply[]): Answer {
  const of = (type: string) => replies.filter((reply) => reply.type === type).map(({ body }) => body)
  return {
    letters: replies.map(({ type }) => type).join(''),
    columns: of('T').flatMap(readColumns),
    rows: of('D').map(readCells),
    tags: of('C').map((body) => body.toString('utf8', 0, body.length - 1)),
    errors: of('E').map(errorFields),
    parameters: of('t').flatMap((body) =>
      Array.from({ length: body.readInt16BE(0) }, (_, at) => body.readInt32BE(2 + 4 * at)),
    ),
    status: of('Z').at(-1)?.toString() ?? '',
    copied: Buffer.concat(of('d')),
  }
}

function readColumns(body: Buffer): { name: string; type: number; modifier: number }[] {
  const columns = []
  let at = 2
  for (let left = body.readInt16BE(0); left > 0; left--) {
    const end = body.indexOf(0, at)
    columns.push({
      name: body.toString('utf8', at, end),
      type: body.readInt32BE(end + 7),
      modifier: body.readInt32BE(end + 13),
    })
    at = end + 19
  }
  return columns
}

function readCells(body: Buffer): (Buffer | null)[] {
  const cells: (Buffer | null)[] = []
  let at = 2
  for (let left = body.readInt16BE(0); left > 0; left--) {
    const length = body.readInt32BE(at)
    at += 4
    cells.push(length === -1 ? null : body.subarray(at, at + length))
    at += Math.max(0, length)
  }
  return cells
}

/** The rows of a result in text. */
export function texts({ rows }: Answer): (string | null)[][] {
  return rows.map((row) => row.map((cell) => cell?.toString() ?? null))
}
