/** A proxy before a real PostgreSQL that records the statements of one client, with their answers. It offers no TLS. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { CorpusLines, CorpusResult } from './corpus-file.ts'
import { Fields, type Message, MessageReader, readDataRow, readError, readRowDescription } from './messages.ts'
import { type BoundValues, ReplayConnection } from './replay.ts'

const SSL_REQUEST = 80_877_103
const GSSENC_REQUEST = 80_877_104
const CANCEL_REQUEST = 80_877_102
/** Statements that can run again without another effect. */
const REPEATABLE = /^\s*(\/\*.*?\*\/\s*|--[^\n]*\n\s*)*\(*\s*(select|with|values|show|table)\b/is

export interface Recorder {
  readonly port: number
  /** Waits until everything that was sent is recorded. */
  close(): Promise<void>
}

export async function startRecorder(postgresPort: number, lines: CorpusLines): Promise<Recorder> {
  const sockets = new Set<Socket>()
  const work: Promise<void>[] = []
  const server = createServer({ noDelay: true }, (client) => {
    sockets.add(client)
    const upstream = connect(postgresPort, '127.0.0.1')
    sockets.add(upstream)
    work.push(serve(client, upstream, postgresPort, lines))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.close()
      for (const socket of sockets) socket.end()
      await Promise.all(work)
    },
  }
}

interface Statement {
  readonly text: string
  readonly declared: readonly number[]
}
interface Portal extends BoundValues {
  readonly statement: Statement
  readonly isBinary: boolean
}
/** What the next answers of the server belong to, in the order in which the client asked. */
type Expected =
  | { readonly kind: 'query'; readonly text: string; readonly results: CorpusResult[] }
  | { readonly kind: 'describe'; readonly statement: Statement }
  | { readonly kind: 'execute'; readonly portal: Portal }
  | { readonly kind: 'parse' | 'bind' | 'close' | 'sync' }

/** What is to be replayed when the client has gone: the replay sees the same data, and delays nobody. */
interface Seen {
  readonly statement: Statement
  readonly portal?: Portal
  readonly seen: CorpusResult
}

async function serve(client: Socket, upstream: Socket, postgresPort: number, lines: CorpusLines): Promise<void> {
  const seen: Seen[] = []
  const requests = new ClientMessages()
  const answers = new ServerMessages(requests.expected, lines, seen)
  let who: { user: string; database: string } | undefined
  client.on('data', (chunk: Buffer) => {
    for (const each of requests.reader.read(chunk)) {
      if (each.type !== '') requests.note(each)
      else {
        const code = each.body.readInt32BE(0)
        if (code === SSL_REQUEST || code === GSSENC_REQUEST) {
          client.write('N')
          continue
        }
        if (code !== CANCEL_REQUEST) {
          who = readStartUp(each.body)
          requests.reader.hasType = true
        }
      }
      upstream.write(each.bytes)
    }
  })
  upstream.on('data', (chunk: Buffer) => {
    client.write(chunk)
    for (const each of answers.reader.read(chunk)) answers.note(each)
  })
  for (const [from, to] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    from.on('end', () => to.end())
    from.on('error', () => to.destroy())
  }
  await Promise.all([once(client, 'close').catch(() => {}), once(upstream, 'close').catch(() => {})])
  if (who !== undefined && seen.length > 0) await replay(seen, who, postgresPort, lines)
}

function readStartUp(body: Buffer): { user: string; database: string } {
  const words = body.toString('utf8', 4).split('\0')
  const parameter = (name: string) => words[words.findIndex((word, at) => at % 2 === 0 && word === name) + 1]
  const user = parameter('user') ?? ''
  return { user, database: words.includes('database') ? (parameter('database') ?? user) : user }
}

/** The messages of the client: which statement and which values each portal has. */
class ClientMessages {
  readonly reader = new MessageReader({ hasType: false })
  readonly expected: Expected[] = []
  readonly #statements = new Map<string, Statement>()
  readonly #portals = new Map<string, Portal>()

  note({ type, body }: Message): void {
    const fields = new Fields(body)
    switch (type) {
      case 'Q':
        this.expected.push({ kind: 'query', text: fields.text(), results: [] })
        break
      case 'P': {
        const name = fields.text()
        const text = fields.text()
        this.#statements.set(name, { text, declared: fields.list(() => fields.uint32()) })
        this.expected.push({ kind: 'parse' })
        break
      }
      case 'B': {
        const name = fields.text()
        const statement = this.#statements.get(fields.text()) ?? { text: '', declared: [] }
        const formats = fields.list(() => fields.int16())
        const values = fields.list(() => fields.value())
        const isBinary = fields.list(() => fields.int16()).includes(1)
        this.#portals.set(name, { statement, formats, values, isBinary })
        this.expected.push({ kind: 'bind' })
        break
      }
      case 'D': {
        const isPortal = fields.byte() === 'P'
        const name = fields.text()
        const statement = isPortal ? this.#portals.get(name)?.statement : this.#statements.get(name)
        this.expected.push({ kind: 'describe', statement: statement ?? { text: '', declared: [] } })
        break
      }
      case 'E': {
        const portal = this.#portals.get(fields.text())
        const none = { statement: { text: '', declared: [] }, formats: [], values: [], isBinary: false }
        this.expected.push({ kind: 'execute', portal: portal ?? none })
        break
      }
      case 'C':
        this.expected.push({ kind: 'close' })
        break
      case 'S':
        this.expected.push({ kind: 'sync' })
        break
    }
  }
}

/** The answers of the server, each put to what was asked. */
class ServerMessages {
  readonly reader = new MessageReader({ hasType: true })
  readonly #expected: Expected[]
  readonly #lines: CorpusLines
  readonly #seen: Seen[]
  #columns: CorpusResult['columns']
  #rows: (string | null)[][] = []

  constructor(expected: Expected[], lines: CorpusLines, seen: Seen[]) {
    this.#expected = expected
    this.#lines = lines
    this.#seen = seen
  }

  note({ type, body }: Message): void {
    const asked = this.#expected[0]
    switch (type) {
      case 'T':
        this.#columns = readRowDescription(body)
        if (asked?.kind === 'describe') this.#describe(asked.statement)
        break
      case 'n':
        if (asked?.kind === 'describe') this.#describe(asked.statement)
        break
      case 'D':
        this.#rows.push(readDataRow(body))
        break
      case '1':
      case '2':
      case '3':
        this.#expected.shift()
        break
      case 'C':
        this.#finish({ tag: new Fields(body).text() })
        break
      case 's':
      case 'I':
        this.#finish({})
        break
      case 'E':
        this.#finish({ error: readError(body) })
        if (asked !== undefined && asked.kind !== 'query') this.#skipToSync()
        break
      case 'Z':
        this.#ready()
        break
    }
  }

  #describe(statement: Statement): void {
    this.#seen.push({ statement, seen: this.#columns === undefined ? {} : { columns: this.#columns } })
    this.#columns = undefined
    this.#expected.shift()
  }

  #finish(end: CorpusResult): void {
    const asked = this.#expected[0]
    const rows = this.#columns === undefined && this.#rows.length === 0 ? {} : { rows: this.#rows }
    const columns = this.#columns === undefined ? {} : { columns: this.#columns }
    const result: CorpusResult = { ...columns, ...rows, ...end }
    this.#columns = undefined
    this.#rows = []
    if (asked?.kind === 'query') asked.results.push(result)
    if (asked?.kind !== 'execute') return
    this.#seen.push({ statement: asked.portal.statement, portal: asked.portal, seen: result })
    this.#expected.shift()
  }

  #skipToSync(): void {
    while (this.#expected.length > 0 && this.#expected[0]?.kind !== 'sync') this.#expected.shift()
  }

  #ready(): void {
    const asked = this.#expected[0]
    if (asked?.kind === 'query') {
      const [first, ...further] = asked.results
      const more = further.length === 0 ? {} : { further }
      this.#lines.add({ text: asked.text, protocol: 'simple', ...first, ...more })
      this.#expected.shift()
    } else if (asked?.kind === 'sync') this.#expected.shift()
  }
}

/** The answers to statements of the extended protocol as text, and their parameters. */
async function replay(
  seen: readonly Seen[],
  { user, database }: { user: string; database: string },
  postgresPort: number,
  lines: CorpusLines,
): Promise<void> {
  const connection = await ReplayConnection.open(postgresPort, user, database)
  for (const { statement, portal, seen: was } of seen) {
    const { text, declared } = statement
    if (text === '') continue
    const isRun = portal !== undefined && was.error === undefined && REPEATABLE.test(text)
    const again = isRun ? await connection.run(text, declared, portal) : await connection.describe(text, declared)
    const types = again.parameterTypes
    const values = portal === undefined ? [] : await connection.readText(types, portal)
    const parameters = types.map((type, at) => ({ type, declared: declared[at] ?? 0, value: values[at] ?? null }))
    const { parameterTypes: _, ...result } = again
    lines.add({
      ...{ text, protocol: 'extended' },
      ...(portal?.isBinary === true ? { binary: true } : {}),
      ...(parameters.length === 0 ? {} : { parameters }),
      ...(isRun && result.error === undefined ? result : withoutBinary(was, portal)),
    })
  }
  connection.close()
}

/** Rows in binary are of no use as text. */
function withoutBinary({ rows, ...rest }: CorpusResult, portal: Portal | undefined): CorpusResult {
  return rows === undefined || portal?.isBinary === true ? rest : { ...rest, rows }
}
