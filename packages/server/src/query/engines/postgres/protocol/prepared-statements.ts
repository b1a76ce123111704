/** The statements that one connection keeps prepared. A join of four tables by key takes 1.7 times as long without (../../DESIGN.md). */
import type { ProtocolConnection } from './protocol.ts'

/** Each takes memory of the database while the connection lives. */
const MAX_PREPARED = 500

interface PreparedStatement {
  readonly name: string
  /** `unsure`: the round trip that should have prepared it failed, or its table has changed. */
  state: 'new' | 'sent' | 'ready' | 'unsure'
}

const BY_CONNECTION = new WeakMap<ProtocolConnection, PreparedStatements>()

export function findPreparedStatements(connection: ProtocolConnection): PreparedStatements {
  let statements = BY_CONNECTION.get(connection)
  if (statements === undefined) {
    statements = new PreparedStatements(connection)
    BY_CONNECTION.set(connection, statements)
  }
  return statements
}

class PreparedStatements {
  readonly #connection: ProtocolConnection
  /** By text, the least recently used first. Not an LruMap: each evicted statement has to be closed on the server. */
  readonly #statements = new Map<string, PreparedStatement>()
  /** Those of the current round trip. */
  #sent: PreparedStatement[] = []
  /** Names of evicted statements, until a round trip that closed them has succeeded. */
  #closing: string[] = []
  #created = 0

  constructor(connection: ProtocolConnection) {
    this.#connection = connection
  }

  /** Returns the name of the statement, and sends Parse where it is not prepared. */
  use(text: string): string {
    const statement = this.#statements.get(text) ?? { name: `gh_${this.#created++}`, state: 'new' }
    this.#statements.delete(text)
    this.#statements.set(text, statement)
    if (statement.state === 'ready' || statement.state === 'sent') return statement.name
    if (statement.state === 'unsure') this.#connection.close({ type: 'S', name: statement.name })
    this.#connection.parse({ name: statement.name, text })
    statement.state = 'sent'
    this.#sent.push(statement)
    this.#evict()
    return statement.name
  }

  /** Call at the end of a round trip. */
  settle(hasSucceeded: boolean): void {
    if (this.#sent.length === 0) return
    for (const statement of this.#sent) statement.state = hasSucceeded ? 'ready' : 'unsure'
    this.#sent = []
    if (hasSucceeded) this.#closing = []
  }

  /** The statement has to be prepared again. */
  invalidate(text: string): void {
    const statement = this.#statements.get(text)
    if (statement !== undefined) statement.state = 'unsure'
  }

  #evict(): void {
    if (this.#statements.size > MAX_PREPARED) {
      const [oldest] = this.#statements
      if (oldest === undefined) return
      this.#statements.delete(oldest[0])
      this.#closing.push(oldest[1].name)
    }
    for (const name of this.#closing) this.#connection.close({ type: 'S', name })
  }
}
